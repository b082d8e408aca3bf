"""How long do a network's plans take: layer by layer, whole, and as streams of images?"""

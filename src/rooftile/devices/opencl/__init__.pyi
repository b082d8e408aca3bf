from .device import OpenclDevice as OpenclDevice
from .device import find as find
from .device import open_device as open_device
from .device import passed_over as passed_over

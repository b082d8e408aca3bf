// The storage of a max-pool's argmax in `where`: by its place in the convolution, row *
// CONV_COLUMNS + column, in 32 bits; or, with WHERE_NARROW, by its position in the window, row *
// the window's columns + column, in 8 bits, a quarter of the traffic.
//
// 8 bits also mark windows that relu cut: where the layer's ACTIVATION is relu and a window's
// result, as it is stored, is not positive, be it NaN, there is NO_WINNER. To readers such a
// window's gradient is zero and is in the window's first position: gradients need not be multiplied
// by relu's derivative before. So 8 bits tell 255 positions apart.

#pragma once

#if WHERE_NARROW
typedef unsigned char winner_place;
#define NO_WINNER 255
// True if a window has none, by its result.
#define CUT(y) (ACTIVATION == 1 && !((y) > 0.0f))
// Of a gradient that a window is given, what its winner has.
#define OF_WINNER(gradient, place) ((place) == NO_WINNER ? 0 : (gradient))
#else
typedef int winner_place;
#define OF_WINNER(gradient, place) (gradient)
#endif

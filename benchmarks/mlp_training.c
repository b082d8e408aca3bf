// A step for each row in the way of a textbook's C program: a matrix is pointers to rows, values
// are double, every loop takes its bounds from an array of sizes, and what a step needs besides the
// weights is allocated for it and freed behind it.  Unlike some such programs it descends.
//
// weights[layer][input][neuron], where input 0 is the bias.

#include <math.h>
#include <stdlib.h>

enum { NONE, RELU, SIGMOID, TANH, SOFTPLUS, SOFTMAX, GELU };

static double** rows_of(int count, const int* sizes, int more)
{
    double** made = calloc(count, sizeof(double*));
    for (int k = 0; k < count; k++) made[k] = calloc(sizes[k] + more, sizeof(double));
    return made;
}

static void free_rows(double** rows, int count)
{
    for (int k = 0; k < count; k++) free(rows[k]);
    free(rows);
}

static void activate(int name, int count, const double* z, double* y)
{
    double most = z[0], sum = 0.0;
    for (int j = 1; j < count; j++) most = fmax(most, z[j]);
    for (int j = 0; j < count; j++) {
        switch (name) {
            case RELU: y[j] = fmax(0.0, z[j]); break;
            case SIGMOID: y[j] = 1.0 / (1.0 + exp(-z[j])); break;
            case TANH: y[j] = tanh(z[j]); break;
            case SOFTPLUS: y[j] = log1p(exp(z[j])); break;
            case SOFTMAX: y[j] = exp(z[j] - most); break;
            case GELU: y[j] = 0.5 * z[j] * erfc(-0.7071067811865476 * z[j]); break;
            default: y[j] = z[j];
        }
        sum += y[j];
    }
    if (name == SOFTMAX)
        for (int j = 0; j < count; j++) y[j] /= sum;
}

// From the gradient behind an activation, in d, to the one before it.
static void derive(int name, int count, const double* z, const double* y, double* d)
{
    double both = 0.0;
    for (int j = 0; j < count; j++) both += d[j] * y[j];
    for (int j = 0; j < count; j++) {
        switch (name) {
            case RELU: d[j] *= z[j] > 0.0; break;
            case SIGMOID: d[j] *= y[j] * (1.0 - y[j]); break;
            case TANH: d[j] *= 1.0 - y[j] * y[j]; break;
            case SOFTPLUS: d[j] *= 1.0 / (1.0 + exp(-z[j])); break;
            case SOFTMAX: d[j] = y[j] * (d[j] - both); break;
            case GELU:
                d[j] *= 0.5 * erfc(-0.7071067811865476 * z[j]) +
                        0.3989422804014327 * z[j] * exp(-0.5 * z[j] * z[j]);
                break;
        }
    }
}

static void forward(int layers, const int* sizes, const int* names, const double* x,
                    double*** weights, double** z, double** a)
{
    for (int i = 0; i < sizes[0]; i++) a[0][i + 1] = x[i];
    for (int k = 0; k < layers; k++) {
        a[k][0] = 1.0;
        for (int j = 0; j < sizes[k + 1]; j++) {
            z[k + 1][j] = 0.0;
            for (int i = 0; i < sizes[k] + 1; i++) z[k + 1][j] += weights[k][i][j] * a[k][i];
        }
        activate(names[k], sizes[k + 1], z[k + 1], a[k + 1] + 1);
    }
}

static void backward(int layers, const int* sizes, const int* names, const double* target,
                     double rate, double*** weights, double** z, double** a)
{
    double** d = rows_of(layers + 1, sizes, 0);
    double*** moves = calloc(layers, sizeof(double**));
    for (int k = 0; k < layers; k++) {
        moves[k] = calloc(sizes[k] + 1, sizeof(double*));
        for (int i = 0; i < sizes[k] + 1; i++) moves[k][i] = calloc(sizes[k + 1], sizeof(double));
    }
    for (int j = 0; j < sizes[layers]; j++) d[layers][j] = a[layers][j + 1] - target[j];
    for (int k = layers; k > 0; k--) {
        derive(names[k - 1], sizes[k], z[k], a[k] + 1, d[k]);
        for (int i = 0; k > 1 && i < sizes[k - 1]; i++)
            for (int j = 0; j < sizes[k]; j++) d[k - 1][i] += weights[k - 1][i + 1][j] * d[k][j];
        for (int i = 0; i < sizes[k - 1] + 1; i++)
            for (int j = 0; j < sizes[k]; j++) moves[k - 1][i][j] = rate * d[k][j] * a[k - 1][i];
    }
    for (int k = 0; k < layers; k++)
        for (int i = 0; i < sizes[k] + 1; i++)
            for (int j = 0; j < sizes[k + 1]; j++) weights[k][i][j] -= moves[k][i][j];
    for (int k = 0; k < layers; k++) free_rows(moves[k], sizes[k] + 1);
    free(moves);
    free_rows(d, layers + 1);
}

// flat: as the operation mlp_training has its weights; they are changed.
void train(const double* x, const double* targets, const int* order, const double* rates,
           double* flat, int rows, int epochs, int layers, const int* sizes, const int* names)
{
    double*** weights = calloc(layers, sizeof(double**));
    double* place = flat;
    for (int k = 0; k < layers; k++) {
        weights[k] = calloc(sizes[k] + 1, sizeof(double*));
        for (int i = 0; i < sizes[k] + 1; i++) weights[k][i] = calloc(sizes[k + 1], sizeof(double));
        for (int j = 0; j < sizes[k + 1]; j++) {
            for (int i = 0; i < sizes[k]; i++) weights[k][i + 1][j] = *place++;
            weights[k][0][j] = *place++;
        }
    }
    double **z = rows_of(layers + 1, sizes, 0), **a = rows_of(layers + 1, sizes, 1);
    for (int epoch = 0; epoch < epochs; epoch++)
        for (int s = 0; s < rows; s++) {
            int row = order[epoch * rows + s];
            forward(layers, sizes, names, x + row * sizes[0], weights, z, a);
            backward(layers, sizes, names, targets + row * sizes[layers], rates[epoch], weights, z,
                     a);
        }
    place = flat;
    for (int k = 0; k < layers; k++) {
        for (int j = 0; j < sizes[k + 1]; j++) {
            for (int i = 0; i < sizes[k]; i++) *place++ = weights[k][i + 1][j];
            *place++ = weights[k][0][j];
        }
        free_rows(weights[k], sizes[k] + 1);
    }
    free(weights);
    free_rows(z, layers + 1);
    free_rows(a, layers + 1);
}

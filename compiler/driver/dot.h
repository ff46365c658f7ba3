// A module as a picture, for graphviz.
#pragma once

#include "ir/op.h"

void module_print_dot(const Module *m, FILE *f);

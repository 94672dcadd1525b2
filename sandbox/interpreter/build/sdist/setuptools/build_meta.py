from mesonpy import *

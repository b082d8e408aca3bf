from . import errors as errors
from . import functional as functional
from . import nn as nn
from ._version import __version__ as __version__
from .errors import CompileFailure as CompileFailure
from .errors import DeviceMissing as DeviceMissing
from .errors import InputError as InputError
from .errors import OutOfMemory as OutOfMemory
from .errors import RooftileError as RooftileError
from .errors import RooftileWarning as RooftileWarning
from .errors import TrainingWarning as TrainingWarning
from .errors import UnsupportedProblem as UnsupportedProblem
from .errors import VerificationFailure as VerificationFailure
from .functional import *  # noqa: F403
from .nn import load as load
from .ops.operator import Operator as Operator

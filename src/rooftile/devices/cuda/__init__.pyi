from .array import CudaArray as CudaArray
from .compile import compile_cubin as compile_cubin
from .contexts import kept_context as kept_context
from .device import CudaDevice as CudaDevice
from .opening import find as find
from .opening import lent_device as lent_device
from .opening import open_device as open_device

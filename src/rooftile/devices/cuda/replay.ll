; A start of a graph, from the look at the thread and its stream to the driver's answer.
;
; `replay` is a method of CPython's with METH_FASTCALL: it is given a list of addresses and the
; stream's.  It gives True where it has launched the graph that was made for these addresses.  Where
; there is none, or the thread is on another GPU, or the stream is being captured, or another thread
; is launching one of these graphs, or the driver refuses, it gives None.
;
; Its `self` is a tuple, whose first element is an array of words of 8 bytes:
;    0  None                    1  True                 2  Py_IncRef
;    3  the type of integers    4  PyLong_AsUnsignedLongLong
;    5  PyEval_SaveThread       6  PyEval_RestoreThread
;    7  cuCtxGetCurrent         8  the GPU's context
;    9  cuStreamIsCapturing    10  a stream that is never captured
;   11  cuGraphLaunch          12  1 while a thread launches, else 0; who looks at it has the GIL
;   13  how many addresses     14  how many graphs
;   15  where the graphs begin, of which each is so many addresses and then the graph's own
;   16  room for the addresses
;
; Objects lie as in CPython for 64 bits: type 8; a list's length 16, where its elements lie 24.

define ptr @replay(ptr %self, ptr %args, i64 %count) {
start:
  %words.object = call ptr @pointer(ptr %self, i64 24)
  %words = call ptr @pointer(ptr %words.object, i64 16)
  %list = load ptr, ptr %args
  %stream.object = call ptr @pointer(ptr %args, i64 8)
  %length.at = getelementptr i8, ptr %list, i64 16
  %length = load i64, ptr %length.at
  %expected = call i64 @word(ptr %words, i64 13)
  %as.many = icmp eq i64 %length, %expected
  %launching = call i64 @word(ptr %words, i64 12)
  %nobody.else = icmp eq i64 %launching, 0
  %may = and i1 %as.many, %nobody.else
  br i1 %may, label %read, label %long.way
read:
  %were.integers = call i1 @read(ptr %words, ptr %list)
  br i1 %were.integers, label %find, label %long.way
find:
  %graph = call ptr @graph(ptr %words)
  %found = icmp ne ptr %graph, null
  br i1 %found, label %look, label %long.way
look:
  %to.number = call ptr @word.pointer(ptr %words, i64 4)
  %stream.number = call i64 %to.number(ptr %stream.object)
  %stream = inttoptr i64 %stream.number to ptr
  %is.free = call i1 @is_free(ptr %words, ptr %stream)
  br i1 %is.free, label %launch, label %long.way
launch:
  %launched = call i1 @launch(ptr %words, ptr %graph, ptr %stream)
  br i1 %launched, label %done, label %long.way
done:
  %true = call ptr @held(ptr %words, i64 1)
  ret ptr %true
long.way:
  %none = call ptr @held(ptr %words, i64 0)
  ret ptr %none
}

; What lies so many bytes into an object.
define internal ptr @pointer(ptr %object, i64 %offset) alwaysinline {
  %at = getelementptr i8, ptr %object, i64 %offset
  %found = load ptr, ptr %at
  ret ptr %found
}

define internal i64 @word(ptr %words, i64 %k) alwaysinline {
  %at = getelementptr i64, ptr %words, i64 %k
  %found = load i64, ptr %at
  ret i64 %found
}

define internal ptr @word.pointer(ptr %words, i64 %k) alwaysinline {
  %found = call i64 @word(ptr %words, i64 %k)
  %made = inttoptr i64 %found to ptr
  ret ptr %made
}

; An object among the words, which the caller of Python's holds from now on.
define internal ptr @held(ptr %words, i64 %k) alwaysinline {
  %object = call ptr @word.pointer(ptr %words, i64 %k)
  %hold = call ptr @word.pointer(ptr %words, i64 2)
  call void %hold(ptr %object)
  ret ptr %object
}

; Writes the list's numbers into the room; whether all of them are Python's own integers.
define internal i1 @read(ptr %words, ptr %list) {
start:
  %count = call i64 @word(ptr %words, i64 13)
  %integers = call ptr @word.pointer(ptr %words, i64 3)
  %to.number = call ptr @word.pointer(ptr %words, i64 4)
  %room = getelementptr i64, ptr %words, i64 16
  %elements = call ptr @pointer(ptr %list, i64 24)
  br label %each
each:
  %k = phi i64 [ 0, %start ], [ %next, %integer ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %ask, label %yes
ask:
  %element.at = getelementptr ptr, ptr %elements, i64 %k
  %element = load ptr, ptr %element.at
  %type = call ptr @pointer(ptr %element, i64 8)
  %is.integer = icmp eq ptr %type, %integers
  br i1 %is.integer, label %integer, label %no
integer:
  %number = call i64 %to.number(ptr %element)
  %to = getelementptr i64, ptr %room, i64 %k
  store i64 %number, ptr %to
  %next = add i64 %k, 1
  br label %each
yes:
  ret i1 true
no:
  ret i1 false
}

; The graph of the addresses in the room; null where there is none.
define internal ptr @graph(ptr %words) {
start:
  %count = call i64 @word(ptr %words, i64 13)
  %graphs = call i64 @word(ptr %words, i64 14)
  %table = call ptr @word.pointer(ptr %words, i64 15)
  %room = getelementptr i64, ptr %words, i64 16
  %width = add i64 %count, 1
  br label %each
each:
  %g = phi i64 [ 0, %start ], [ %g.next, %another ]
  %more = icmp slt i64 %g, %graphs
  br i1 %more, label %begin, label %none
begin:
  %first = mul i64 %g, %width
  %row = getelementptr i64, ptr %table, i64 %first
  br label %compare
compare:
  %k = phi i64 [ 0, %begin ], [ %k.next, %same ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %one, label %found
one:
  %own.at = getelementptr i64, ptr %row, i64 %k
  %own = load i64, ptr %own.at
  %given.at = getelementptr i64, ptr %room, i64 %k
  %given = load i64, ptr %given.at
  %equal = icmp eq i64 %own, %given
  br i1 %equal, label %same, label %another
same:
  %k.next = add i64 %k, 1
  br label %compare
another:
  %g.next = add i64 %g, 1
  br label %each
found:
  %graph = call ptr @word.pointer(ptr %row, i64 %count)
  ret ptr %graph
none:
  ret ptr null
}

; Whether the thread is on the GPU, and nobody captures the stream.
define internal i1 @is_free(ptr %words, ptr %stream) {
start:
  %context = alloca ptr
  %status = alloca i32
  store ptr null, ptr %context
  store i32 0, ptr %status
  %ask.context = call ptr @word.pointer(ptr %words, i64 7)
  %context.error = call i32 %ask.context(ptr %context)
  %current = load ptr, ptr %context
  %own = call ptr @word.pointer(ptr %words, i64 8)
  %here = icmp eq ptr %current, %own
  br i1 %here, label %capture, label %no
capture:
  %never = call ptr @word.pointer(ptr %words, i64 10)
  %is.never = icmp eq ptr %stream, %never
  br i1 %is.never, label %yes, label %ask
ask:
  %ask.status = call ptr @word.pointer(ptr %words, i64 9)
  %status.error = call i32 %ask.status(ptr %stream, ptr %status)
  %found = load i32, ptr %status
  %either = or i32 %status.error, %found
  %free = icmp eq i32 %either, 0
  ret i1 %free
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether the driver has launched the graph; meanwhile the GIL is free, since the driver waits where
; a stream holds too much.
define internal i1 @launch(ptr %words, ptr %graph, ptr %stream) {
  %launching = getelementptr i64, ptr %words, i64 12
  store i64 1, ptr %launching
  %save = call ptr @word.pointer(ptr %words, i64 5)
  %thread = call ptr %save()
  %function = call ptr @word.pointer(ptr %words, i64 11)
  %error = call i32 %function(ptr %graph, ptr %stream)
  %restore = call ptr @word.pointer(ptr %words, i64 6)
  call void %restore(ptr %thread)
  store i64 0, ptr %launching
  %good = icmp eq i32 %error, 0
  ret i1 %good
}

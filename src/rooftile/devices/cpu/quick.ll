; A call of Python's on arrays of NumPy, from the look at them to the result.
;
; `quick` is a method of CPython's with METH_FASTCALL: it is given a tuple of arrays and the array
; for the result, or None.  Where an array is not plain (NumPy's own type, the expected dtype,
; row-major, aligned; that for the result writable and apart from the others), or the team is missing,
; or another thread is in this call, it gives None.
;
; Its `self` is a tuple, whose first element is an array of words of 8 bytes:
;    0  type of the arrays      1  their dtype          2  how many are given
;    3  None                    4  Py_IncRef            5  PyArray_New
;    6  number of the dtype     7  axes of the result   8  bytes of the result
;    9  table  10  rows  11  width, as `alone` and `spread` of `team.ll` take them
;   12  `alone`                13  `spread`            14  shares of a kernel
;   15  where the address of the team's state lies, which is 0 in a forked child that has made none;
;       0: the kernel is the caller's alone
;   16  PyEval_SaveThread      17  PyEval_RestoreThread; both 0: the GIL is kept
;   18  1 while a thread without the GIL computes, else 0; who looks at it has the GIL
;   24  words of the table for the arrays' addresses, that of the result last
;   32  bytes of each array that is given
;   40  the result's shape
;
; Objects lie as in CPython and NumPy 2 for 64 bits: type 8; a tuple's length 16, elements 24; an
; array's memory 16, number of axes 24, shape 32, dtype 56, flags 64.

define ptr @quick(ptr %self, ptr %args, i64 %count) {
start:
  %words.object = call ptr @pointer(ptr %self, i64 24)
  %words = call ptr @pointer(ptr %words.object, i64 16)
  %arrays = load ptr, ptr %args
  %out = call ptr @pointer(ptr %args, i64 8)
  %expected = call i64 @word(ptr %words, i64 2)
  %given = call i64 @number(ptr %arrays, i64 16)
  %as.many = icmp eq i64 %given, %expected
  %others = call i64 @word(ptr %words, i64 18)
  %nobody.else = icmp eq i64 %others, 0
  %may = and i1 %as.many, %nobody.else
  br i1 %may, label %team, label %long.way
team:
  %team.word = call i64 @word(ptr %words, i64 15)
  %by.itself = icmp eq i64 %team.word, 0
  br i1 %by.itself, label %each, label %ask
ask:
  %team.at = inttoptr i64 %team.word to ptr
  %team.state = load i64, ptr %team.at
  %missing = icmp eq i64 %team.state, 0
  br i1 %missing, label %long.way, label %each
each:
  %state = phi i64 [ 0, %team ], [ %team.state, %ask ], [ %state, %plain ]
  %k = phi i64 [ 0, %team ], [ 0, %ask ], [ %next, %plain ]
  %more = icmp slt i64 %k, %expected
  br i1 %more, label %look, label %result
look:
  %array = call ptr @element(ptr %arrays, i64 %k)
  %is.plain = call i1 @is_plain(ptr %words, ptr %array, i32 257)
  br i1 %is.plain, label %plain, label %long.way
plain:
  %next = add i64 %k, 1
  br label %each
result:
  %none.word = call i64 @word(ptr %words, i64 3)
  %none = inttoptr i64 %none.word to ptr
  %to.make = icmp eq ptr %out, %none
  br i1 %to.make, label %make, label %check
make:
  %made = call ptr @new(ptr %words)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %raise, label %run
check:
  %fits = call i1 @fits(ptr %words, ptr %out, ptr %arrays)
  br i1 %fits, label %hold, label %long.way
hold:
  call void @hold(ptr %words, ptr %out)
  br label %run
run:
  %to = phi ptr [ %made, %make ], [ %out, %hold ]
  call void @compute_free(ptr %words, ptr %arrays, ptr %to, i64 %state)
  ret ptr %to
raise:
  ret ptr null
long.way:
  %nothing.word = call i64 @word(ptr %words, i64 3)
  %nothing = inttoptr i64 %nothing.word to ptr
  call void @hold(ptr %words, ptr %nothing)
  ret ptr %nothing
}

; What lies so many bytes into an object.
define internal ptr @pointer(ptr %object, i64 %offset) alwaysinline {
  %at = getelementptr i8, ptr %object, i64 %offset
  %found = load ptr, ptr %at
  ret ptr %found
}

define internal i64 @number(ptr %object, i64 %offset) alwaysinline {
  %at = getelementptr i8, ptr %object, i64 %offset
  %found = load i64, ptr %at
  ret i64 %found
}

define internal i64 @word(ptr %words, i64 %k) alwaysinline {
  %at = getelementptr i64, ptr %words, i64 %k
  %found = load i64, ptr %at
  ret i64 %found
}

define internal ptr @element(ptr %tuple, i64 %k) alwaysinline {
  %bytes = mul i64 %k, 8
  %offset = add i64 %bytes, 24
  %found = call ptr @pointer(ptr %tuple, i64 %offset)
  ret ptr %found
}

; Type, dtype, and flags: 1 is C_CONTIGUOUS, 256 ALIGNED, 1024 WRITEABLE.
define internal i1 @is_plain(ptr %words, ptr %array, i32 %wanted) alwaysinline {
  %type = call i64 @number(ptr %array, i64 8)
  %types = call i64 @word(ptr %words, i64 0)
  %same.type = icmp eq i64 %type, %types
  br i1 %same.type, label %of.numpy, label %no
of.numpy:
  %dtype = call i64 @number(ptr %array, i64 56)
  %dtypes = call i64 @word(ptr %words, i64 1)
  %same.dtype = icmp eq i64 %dtype, %dtypes
  %flags.at = getelementptr i8, ptr %array, i64 64
  %flags = load i32, ptr %flags.at
  %has = and i32 %flags, %wanted
  %all = icmp eq i32 %has, %wanted
  %both = and i1 %same.dtype, %all
  ret i1 %both
no:
  ret i1 false
}

define internal ptr @new(ptr %words) alwaysinline {
  %type.word = call i64 @word(ptr %words, i64 0)
  %type = inttoptr i64 %type.word to ptr
  %function.word = call i64 @word(ptr %words, i64 5)
  %function = inttoptr i64 %function.word to ptr
  %dtype.word = call i64 @word(ptr %words, i64 6)
  %dtype = trunc i64 %dtype.word to i32
  %axes.word = call i64 @word(ptr %words, i64 7)
  %axes = trunc i64 %axes.word to i32
  %shape = getelementptr i64, ptr %words, i64 40
  %made = call ptr %function(ptr %type, i32 %axes, ptr %shape, i32 %dtype, ptr null, ptr null, i32 0, i32 0, ptr null)
  ret ptr %made
}

define internal void @hold(ptr %words, ptr %object) alwaysinline {
  %function.word = call i64 @word(ptr %words, i64 4)
  %function = inttoptr i64 %function.word to ptr
  call void %function(ptr %object)
  ret void
}

; Whether the caller's array has the result's shape, may be written, and is apart from the others.
define internal i1 @fits(ptr %words, ptr %out, ptr %arrays) {
start:
  %plain = call i1 @is_plain(ptr %words, ptr %out, i32 1281)
  br i1 %plain, label %count, label %no
count:
  %axes = call i64 @word(ptr %words, i64 7)
  %has.at = getelementptr i8, ptr %out, i64 24
  %has.short = load i32, ptr %has.at
  %has = sext i32 %has.short to i64
  %as.many = icmp eq i64 %has, %axes
  br i1 %as.many, label %axis, label %no
axis:
  %k = phi i64 [ 0, %count ], [ %k.next, %same ]
  %more = icmp slt i64 %k, %axes
  br i1 %more, label %compare, label %bounds
compare:
  %shape = call ptr @pointer(ptr %out, i64 32)
  %length = call i64 @word(ptr %shape, i64 %k)
  %place = add i64 %k, 40
  %wanted = call i64 @word(ptr %words, i64 %place)
  %equal = icmp eq i64 %length, %wanted
  br i1 %equal, label %same, label %no
same:
  %k.next = add i64 %k, 1
  br label %axis
bounds:
  %begin = call i64 @number(ptr %out, i64 16)
  %bytes = call i64 @word(ptr %words, i64 8)
  %end = add i64 %begin, %bytes
  %arrays.count = call i64 @word(ptr %words, i64 2)
  br label %other
other:
  %j = phi i64 [ 0, %bounds ], [ %j.next, %apart ]
  %others = icmp slt i64 %j, %arrays.count
  br i1 %others, label %overlap, label %yes
overlap:
  %array = call ptr @element(ptr %arrays, i64 %j)
  %from = call i64 @number(ptr %array, i64 16)
  %size.at = add i64 %j, 32
  %size = call i64 @word(ptr %words, i64 %size.at)
  %until = add i64 %from, %size
  %before = icmp ule i64 %until, %begin
  %behind = icmp ule i64 %end, %from
  %free = or i1 %before, %behind
  br i1 %free, label %apart, label %no
apart:
  %j.next = add i64 %j, 1
  br label %other
yes:
  ret i1 true
no:
  ret i1 false
}

; `compute`, meanwhile without the GIL where the words say so.
define internal void @compute_free(ptr %words, ptr %arrays, ptr %out, i64 %state) alwaysinline {
start:
  %save.word = call i64 @word(ptr %words, i64 16)
  %keeps = icmp eq i64 %save.word, 0
  br i1 %keeps, label %kept, label %free
kept:
  call void @compute(ptr %words, ptr %arrays, ptr %out, i64 %state)
  ret void
free:
  %computes.at = getelementptr i64, ptr %words, i64 18
  store i64 1, ptr %computes.at
  %save = inttoptr i64 %save.word to ptr
  %thread = call ptr %save()
  call void @compute(ptr %words, ptr %arrays, ptr %out, i64 %state)
  %restore.word = call i64 @word(ptr %words, i64 17)
  %restore = inttoptr i64 %restore.word to ptr
  call void %restore(ptr %thread)
  store i64 0, ptr %computes.at
  ret void
}

; Writes the arrays' addresses into the table and runs it, by the team with this state.
define internal void @compute(ptr %words, ptr %arrays, ptr %out, i64 %state) alwaysinline {
start:
  %count = call i64 @word(ptr %words, i64 2)
  br label %each
each:
  %k = phi i64 [ 0, %start ], [ %next, %given ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %given, label %last
given:
  %array = call ptr @element(ptr %arrays, i64 %k)
  call void @place(ptr %words, i64 %k, ptr %array)
  %next = add i64 %k, 1
  br label %each
last:
  call void @place(ptr %words, i64 %count, ptr %out)
  %table = call i64 @word(ptr %words, i64 9)
  %rows = call i64 @word(ptr %words, i64 10)
  %width = call i64 @word(ptr %words, i64 11)
  %by.itself = icmp eq i64 %state, 0
  br i1 %by.itself, label %alone, label %together
alone:
  %alone.word = call i64 @word(ptr %words, i64 12)
  %alone.function = inttoptr i64 %alone.word to ptr
  call void %alone.function(i64 %table, i64 %rows, i64 %width)
  ret void
together:
  %spread.word = call i64 @word(ptr %words, i64 13)
  %spread.function = inttoptr i64 %spread.word to ptr
  %shares = call i64 @word(ptr %words, i64 14)
  call void %spread.function(i64 %state, i64 %table, i64 %rows, i64 %width, i64 %shares)
  ret void
}

define internal void @place(ptr %words, i64 %k, ptr %array) alwaysinline {
  %at = add i64 %k, 24
  %number = call i64 @word(ptr %words, i64 %at)
  %table.word = call i64 @word(ptr %words, i64 9)
  %table = inttoptr i64 %table.word to ptr
  %to = getelementptr i64, ptr %table, i64 %number
  %memory = call i64 @number(ptr %array, i64 16)
  store i64 %memory, ptr %to
  ret void
}

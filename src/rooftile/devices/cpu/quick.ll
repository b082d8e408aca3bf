; LLVM's text of quick.c, by `make texts` with
; Debian clang version 15.0.6, Python 3.11, NumPy 2.4.6
; SHA-256 of the C: daa1b68ae9c5cc34b23ec93e72585942ef75a6ad886b5a85ef0a2f415cfbbc4d

%struct._object = type { i64, ptr }
%struct.call = type { ptr, ptr, i64, i64, i64, [32 x i64], [8 x i64], [8 x i64], ptr, i64, i64, ptr, ptr, i64, ptr, i64, i64 }
%struct.tagPyArrayObject_fields = type { %struct._object, ptr, i32, ptr, ptr, ptr, ptr, i32, ptr, ptr, ptr }

@_Py_NoneStruct = external global %struct._object, align 8

define ptr @quick(ptr %self, ptr %arguments, i64 %count) {
entry:
  %call1 = tail call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %call2 = tail call ptr @PyLong_AsVoidPtr(ptr %call1)
  %cmp.not = icmp eq i64 %count, 2
  br i1 %cmp.not, label %lor.lhs.false, label %if.then

lor.lhs.false:
  %0 = load ptr, ptr %arguments, align 8
  %ob_type.i = getelementptr inbounds %struct._object, ptr %0, i64 0, i32 1
  %1 = load ptr, ptr %ob_type.i, align 8
  %call.i = tail call i64 @PyType_GetFlags(ptr %1)
  %2 = and i64 %call.i, 67108864
  %tobool.not = icmp eq i64 %2, 0
  br i1 %tobool.not, label %if.then, label %if.end

if.then:
  tail call void @Py_IncRef(ptr @_Py_NoneStruct)
  br label %cleanup72

if.end:
  %3 = load ptr, ptr %arguments, align 8
  %arrayidx7 = getelementptr inbounds ptr, ptr %arguments, i64 1
  %4 = load ptr, ptr %arrayidx7, align 8
  %call8 = tail call i64 @PyTuple_Size(ptr %3)
  %given = getelementptr inbounds %struct.call, ptr %call2, i64 0, i32 3
  %5 = load i64, ptr %given, align 8
  %cmp9.not = icmp eq i64 %call8, %5
  br i1 %cmp9.not, label %lor.lhs.false10, label %if.then12

lor.lhs.false10:
  %computing.i = getelementptr inbounds %struct.call, ptr %call2, i64 0, i32 16
  %6 = load i64, ptr %computing.i, align 8
  %cmp.not.i = icmp eq i64 %6, 0
  br i1 %cmp.not.i, label %if.end14, label %land.rhs.i

land.rhs.i:
  %call2.i = tail call i32 @getpid()
  %conv.i = sext i32 %call2.i to i64
  %cmp3.i = icmp eq i64 %6, %conv.i
  br i1 %cmp3.i, label %if.then12, label %if.end14

if.then12:
  tail call void @Py_IncRef(ptr @_Py_NoneStruct)
  br label %cleanup72

if.end14:
  %team15 = getelementptr inbounds %struct.call, ptr %call2, i64 0, i32 14
  %7 = load ptr, ptr %team15, align 8
  %tobool16.not = icmp eq ptr %7, null
  br i1 %tobool16.not, label %cond.end, label %cond.true

cond.true:
  %8 = load ptr, ptr %7, align 8
  br label %cond.end

cond.end:
  %cond = phi ptr [ %8, %cond.true ], [ null, %if.end14 ]
  %tobool20 = icmp ne ptr %cond, null
  %or.cond = select i1 %tobool16.not, i1 true, i1 %tobool20
  br i1 %or.cond, label %for.cond.preheader, label %if.then21

for.cond.preheader:
  %9 = load i64, ptr %given, align 8
  %cmp25117 = icmp sgt i64 %9, 0
  br i1 %cmp25117, label %for.body.lr.ph, label %for.end

for.body.lr.ph:
  %dtype.i = getelementptr inbounds %struct.call, ptr %call2, i64 0, i32 1
  br label %for.body

if.then21:
  tail call void @Py_IncRef(ptr @_Py_NoneStruct)
  br label %cleanup72

for.cond:
  %inc = add nuw nsw i64 %k.0118, 1
  %10 = load i64, ptr %given, align 8
  %cmp25 = icmp slt i64 %inc, %10
  br i1 %cmp25, label %for.body, label %for.end

for.body:
  %k.0118 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.cond ]
  %call26 = tail call ptr @PyTuple_GetItem(ptr %3, i64 %k.0118)
  %11 = load ptr, ptr %call2, align 8
  %ob_type.i.i = getelementptr inbounds %struct._object, ptr %call26, i64 0, i32 1
  %12 = load ptr, ptr %ob_type.i.i, align 8
  %arrayidx.i = getelementptr inbounds ptr, ptr %11, i64 2
  %13 = load ptr, ptr %arrayidx.i, align 8
  %cmp.i = icmp eq ptr %12, %13
  br i1 %cmp.i, label %if.end.i, label %if.then28

if.end.i:
  %descr.i.i = getelementptr inbounds %struct.tagPyArrayObject_fields, ptr %call26, i64 0, i32 6
  %14 = load ptr, ptr %descr.i.i, align 8
  %15 = load ptr, ptr %dtype.i, align 8
  %cmp3.i112 = icmp eq ptr %14, %15
  br i1 %cmp3.i112, label %land.rhs.i113, label %if.then28

land.rhs.i113:
  %flags.i.i = getelementptr inbounds %struct.tagPyArrayObject_fields, ptr %call26, i64 0, i32 7
  %16 = load i32, ptr %flags.i.i, align 8
  %and.i = and i32 %16, 257
  %cmp5.i = icmp eq i32 %and.i, 257
  br i1 %cmp5.i, label %for.cond, label %if.then28

if.then28:
  tail call void @Py_IncRef(ptr @_Py_NoneStruct)
  br label %cleanup72

for.end:
  %cmp31 = icmp eq ptr %4, @_Py_NoneStruct
  br i1 %cmp31, label %if.then32, label %if.else

if.then32:
  %17 = load ptr, ptr %call2, align 8
  %arrayidx.i114 = getelementptr inbounds ptr, ptr %17, i64 93
  %18 = load ptr, ptr %arrayidx.i114, align 8
  %arrayidx1.i = getelementptr inbounds ptr, ptr %17, i64 2
  %19 = load ptr, ptr %arrayidx1.i, align 8
  %axes.i = getelementptr inbounds %struct.call, ptr %call2, i64 0, i32 4
  %20 = load i64, ptr %axes.i, align 8
  %conv.i115 = trunc i64 %20 to i32
  %shape.i = getelementptr inbounds %struct.call, ptr %call2, i64 0, i32 5
  %dtype_number.i = getelementptr inbounds %struct.call, ptr %call2, i64 0, i32 2
  %21 = load i64, ptr %dtype_number.i, align 8
  %conv2.i = trunc i64 %21 to i32
  %call3.i = tail call ptr %18(ptr %19, i32 %conv.i115, ptr %shape.i, i32 %conv2.i, ptr null, ptr null, i32 0, i32 0, ptr null)
  %cmp34 = icmp eq ptr %call3.i, null
  br i1 %cmp34, label %cleanup72, label %if.end41

if.else:
  %call37 = tail call fastcc zeroext i1 @fits(ptr %call2, ptr %4, ptr %3)
  br i1 %call37, label %if.end40, label %if.then38

if.then38:
  tail call void @Py_IncRef(ptr @_Py_NoneStruct)
  br label %cleanup72

if.end40:
  tail call void @Py_IncRef(ptr %4)
  br label %if.end41

if.end41:
  %out.0 = phi ptr [ %call3.i, %if.then32 ], [ %4, %if.end40 ]
  %22 = load i64, ptr %given, align 8
  %cmp45119 = icmp sgt i64 %22, 0
  br i1 %cmp45119, label %for.body47.lr.ph, label %for.cond.cleanup46

for.body47.lr.ph:
  %table = getelementptr inbounds %struct.call, ptr %call2, i64 0, i32 8
  br label %for.body47

for.cond.cleanup46:
  %.lcssa = phi i64 [ %22, %if.end41 ], [ %32, %for.body47 ]
  %data.i.i = getelementptr inbounds %struct.tagPyArrayObject_fields, ptr %out.0, i64 0, i32 1
  %23 = load ptr, ptr %data.i.i, align 8
  %24 = ptrtoint ptr %23 to i64
  %table57 = getelementptr inbounds %struct.call, ptr %call2, i64 0, i32 8
  %25 = load ptr, ptr %table57, align 8
  %arrayidx60 = getelementptr inbounds %struct.call, ptr %call2, i64 0, i32 7, i64 %.lcssa
  %26 = load i64, ptr %arrayidx60, align 8
  %arrayidx61 = getelementptr inbounds i64, ptr %25, i64 %26
  store i64 %24, ptr %arrayidx61, align 8
  %frees_gil = getelementptr inbounds %struct.call, ptr %call2, i64 0, i32 15
  %27 = load i64, ptr %frees_gil, align 8
  %tobool62.not = icmp eq i64 %27, 0
  br i1 %tobool62.not, label %if.then63, label %if.end64

for.body47:
  %k42.0120 = phi i64 [ 0, %for.body47.lr.ph ], [ %inc53, %for.body47 ]
  %call48 = tail call ptr @PyTuple_GetItem(ptr %3, i64 %k42.0120)
  %data.i.i116 = getelementptr inbounds %struct.tagPyArrayObject_fields, ptr %call48, i64 0, i32 1
  %28 = load ptr, ptr %data.i.i116, align 8
  %29 = ptrtoint ptr %28 to i64
  %30 = load ptr, ptr %table, align 8
  %arrayidx50 = getelementptr inbounds %struct.call, ptr %call2, i64 0, i32 7, i64 %k42.0120
  %31 = load i64, ptr %arrayidx50, align 8
  %arrayidx51 = getelementptr inbounds i64, ptr %30, i64 %31
  store i64 %29, ptr %arrayidx51, align 8
  %inc53 = add nuw nsw i64 %k42.0120, 1
  %32 = load i64, ptr %given, align 8
  %cmp45 = icmp slt i64 %inc53, %32
  br i1 %cmp45, label %for.body47, label %for.cond.cleanup46

if.then63:
  tail call fastcc void @compute(ptr %call2, ptr %cond)
  br label %cleanup72

if.end64:
  %call65 = tail call i32 @getpid()
  %conv = sext i32 %call65 to i64
  store i64 %conv, ptr %computing.i, align 8
  %call66 = tail call ptr @PyEval_SaveThread()
  tail call fastcc void @compute(ptr %call2, ptr %cond)
  tail call void @PyEval_RestoreThread(ptr %call66)
  store i64 0, ptr %computing.i, align 8
  br label %cleanup72

cleanup72:
  %retval.3 = phi ptr [ @_Py_NoneStruct, %if.then ], [ @_Py_NoneStruct, %if.then12 ], [ %out.0, %if.end64 ], [ %out.0, %if.then63 ], [ @_Py_NoneStruct, %if.then38 ], [ @_Py_NoneStruct, %if.then28 ], [ @_Py_NoneStruct, %if.then21 ], [ null, %if.then32 ]
  ret ptr %retval.3
}

declare ptr @PyLong_AsVoidPtr(ptr)

declare ptr @PyTuple_GetItem(ptr, i64)

declare i64 @PyTuple_Size(ptr)

define internal fastcc zeroext i1 @fits(ptr %call, ptr %out, ptr %arrays) {
entry:
  %0 = load ptr, ptr %call, align 8
  %ob_type.i.i = getelementptr inbounds %struct._object, ptr %out, i64 0, i32 1
  %1 = load ptr, ptr %ob_type.i.i, align 8
  %arrayidx.i = getelementptr inbounds ptr, ptr %0, i64 2
  %2 = load ptr, ptr %arrayidx.i, align 8
  %cmp.i = icmp eq ptr %1, %2
  br i1 %cmp.i, label %if.end.i, label %return

if.end.i:
  %descr.i.i = getelementptr inbounds %struct.tagPyArrayObject_fields, ptr %out, i64 0, i32 6
  %3 = load ptr, ptr %descr.i.i, align 8
  %dtype.i = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 1
  %4 = load ptr, ptr %dtype.i, align 8
  %cmp3.i = icmp eq ptr %3, %4
  br i1 %cmp3.i, label %land.rhs.i, label %return

land.rhs.i:
  %flags.i.i = getelementptr inbounds %struct.tagPyArrayObject_fields, ptr %out, i64 0, i32 7
  %5 = load i32, ptr %flags.i.i, align 8
  %and.i = and i32 %5, 1281
  %cmp5.i = icmp eq i32 %and.i, 1281
  br i1 %cmp5.i, label %if.end, label %return

if.end:
  %nd.i = getelementptr inbounds %struct.tagPyArrayObject_fields, ptr %out, i64 0, i32 2
  %6 = load i32, ptr %nd.i, align 8
  %conv = sext i32 %6 to i64
  %axes = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 4
  %7 = load i64, ptr %axes, align 8
  %cmp.not = icmp eq i64 %7, %conv
  br i1 %cmp.not, label %for.cond.preheader, label %return

for.cond.preheader:
  %cmp868 = icmp sgt i64 %7, 0
  br i1 %cmp868, label %for.body.lr.ph, label %for.end

for.body.lr.ph:
  %dimensions.i = getelementptr inbounds %struct.tagPyArrayObject_fields, ptr %out, i64 0, i32 3
  %8 = load ptr, ptr %dimensions.i, align 8
  br label %for.body

for.cond:
  %indvars.iv.next = add nuw nsw i64 %indvars.iv, 1
  %exitcond.not = icmp eq i64 %indvars.iv.next, %7
  br i1 %exitcond.not, label %for.end, label %for.body

for.body:
  %indvars.iv = phi i64 [ 0, %for.body.lr.ph ], [ %indvars.iv.next, %for.cond ]
  %arrayidx.i66 = getelementptr inbounds i64, ptr %8, i64 %indvars.iv
  %9 = load i64, ptr %arrayidx.i66, align 8
  %arrayidx = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 5, i64 %indvars.iv
  %10 = load i64, ptr %arrayidx, align 8
  %cmp11.not = icmp eq i64 %9, %10
  br i1 %cmp11.not, label %for.cond, label %return

for.end:
  %data.i.i = getelementptr inbounds %struct.tagPyArrayObject_fields, ptr %out, i64 0, i32 1
  %11 = load ptr, ptr %data.i.i, align 8
  %given = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 3
  %12 = load i64, ptr %given, align 8
  %arrayidx16 = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 6, i64 %12
  %13 = load i64, ptr %arrayidx16, align 8
  %add.ptr = getelementptr inbounds i8, ptr %11, i64 %13
  %cmp1971 = icmp sgt i64 %12, 0
  br i1 %cmp1971, label %for.body22.preheader, label %cleanup41

for.body22.preheader:
  %call2376 = tail call ptr @PyTuple_GetItem(ptr %arrays, i64 0)
  %data.i.i6777 = getelementptr inbounds %struct.tagPyArrayObject_fields, ptr %call2376, i64 0, i32 1
  %14 = load ptr, ptr %data.i.i6777, align 8
  %arrayidx2678 = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 6, i64 0
  %15 = load i64, ptr %arrayidx2678, align 8
  %add.ptr2779 = getelementptr inbounds i8, ptr %14, i64 %15
  %cmp2880 = icmp ult ptr %11, %add.ptr2779
  %cmp3081 = icmp ult ptr %14, %add.ptr
  %or.cond82 = select i1 %cmp2880, i1 %cmp3081, i1 false
  br i1 %or.cond82, label %cleanup41, label %for.cond17

for.cond17:
  %k.07283 = phi i64 [ %inc37, %for.body22 ], [ 0, %for.body22.preheader ]
  %inc37 = add nuw nsw i64 %k.07283, 1
  %16 = load i64, ptr %given, align 8
  %cmp19 = icmp slt i64 %inc37, %16
  br i1 %cmp19, label %for.body22, label %cleanup41

for.body22:
  %call23 = tail call ptr @PyTuple_GetItem(ptr %arrays, i64 %inc37)
  %data.i.i67 = getelementptr inbounds %struct.tagPyArrayObject_fields, ptr %call23, i64 0, i32 1
  %17 = load ptr, ptr %data.i.i67, align 8
  %arrayidx26 = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 6, i64 %inc37
  %18 = load i64, ptr %arrayidx26, align 8
  %add.ptr27 = getelementptr inbounds i8, ptr %17, i64 %18
  %cmp28 = icmp ult ptr %11, %add.ptr27
  %cmp30 = icmp ult ptr %17, %add.ptr
  %or.cond = select i1 %cmp28, i1 %cmp30, i1 false
  br i1 %or.cond, label %cleanup41, label %for.cond17

cleanup41:
  %cmp19.lcssa = phi i1 [ %cmp1971, %for.end ], [ %cmp1971, %for.body22.preheader ], [ %cmp19, %for.body22 ], [ %cmp19, %for.cond17 ]
  %19 = xor i1 %cmp19.lcssa, true
  br label %return

return:
  %retval.6 = phi i1 [ false, %land.rhs.i ], [ %19, %cleanup41 ], [ false, %if.end ], [ false, %if.end.i ], [ false, %entry ], [ false, %for.body ]
  ret i1 %retval.6
}

declare void @Py_IncRef(ptr)

define internal fastcc void @compute(ptr %call, ptr %team) {
entry:
  %cmp = icmp eq ptr %team, null
  br i1 %cmp, label %if.then, label %if.else

if.then:
  %alone = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 11
  %0 = load ptr, ptr %alone, align 8
  %table = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 8
  %1 = load ptr, ptr %table, align 8
  %rows = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 9
  %2 = load i64, ptr %rows, align 8
  %width = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 10
  %3 = load i64, ptr %width, align 8
  tail call void %0(ptr %1, i64 %2, i64 %3)
  br label %if.end

if.else:
  %spread = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 12
  %4 = load ptr, ptr %spread, align 8
  %table1 = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 8
  %5 = load ptr, ptr %table1, align 8
  %rows2 = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 9
  %6 = load i64, ptr %rows2, align 8
  %width3 = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 10
  %7 = load i64, ptr %width3, align 8
  %shares = getelementptr inbounds %struct.call, ptr %call, i64 0, i32 13
  %8 = load i64, ptr %shares, align 8
  tail call void %4(ptr %team, ptr %5, i64 %6, i64 %7, i64 %8)
  br label %if.end

if.end:
  ret void
}

declare i32 @getpid()

declare ptr @PyEval_SaveThread()

declare void @PyEval_RestoreThread(ptr)

declare i64 @PyType_GetFlags(ptr)

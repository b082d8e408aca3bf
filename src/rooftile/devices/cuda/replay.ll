; LLVM's text of replay.c, by `make texts` with
; Debian clang version 15.0.6, Python 3.11, NumPy 2.4.6
; SHA-256 of the C: 76890f2d975699e0804044d91941266bab52f8782b13a023ec56f3f967d043ea

%struct._typeobject = type opaque
%struct._object = type { i64, ptr }
%struct._longobject = type opaque
%struct.table = type { ptr, ptr, ptr, ptr, ptr, i64, i64, ptr, ptr, i64 }

@PyList_Type = external global %struct._typeobject, align 1
@PyLong_Type = external global %struct._typeobject, align 1
@_Py_NoneStruct = external global %struct._object, align 8
@_Py_TrueStruct = external global %struct._longobject, align 1

define ptr @replay(ptr %self, ptr %arguments, i64 %count) {
entry:
  %call = tail call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %call1 = tail call ptr @PyLong_AsVoidPtr(ptr %call)
  %cmp.not = icmp eq i64 %count, 2
  br i1 %cmp.not, label %lor.lhs.false, label %cleanup40

lor.lhs.false:
  %0 = load ptr, ptr %arguments, align 8
  %ob_type.i.i = getelementptr inbounds %struct._object, ptr %0, i64 0, i32 1
  %1 = load ptr, ptr %ob_type.i.i, align 8
  %cmp.i.not = icmp eq ptr %1, @PyList_Type
  br i1 %cmp.i.not, label %lor.lhs.false3, label %cleanup40

lor.lhs.false3:
  %arrayidx4 = getelementptr inbounds ptr, ptr %arguments, i64 1
  %2 = load ptr, ptr %arrayidx4, align 8
  %ob_type.i.i54 = getelementptr inbounds %struct._object, ptr %2, i64 0, i32 1
  %3 = load ptr, ptr %ob_type.i.i54, align 8
  %cmp.i55.not = icmp eq ptr %3, @PyLong_Type
  br i1 %cmp.i55.not, label %if.end, label %cleanup40

if.end:
  %call9 = tail call i64 @PyList_Size(ptr %0)
  %addresses = getelementptr inbounds %struct.table, ptr %call1, i64 0, i32 5
  %4 = load i64, ptr %addresses, align 8
  %cmp10.not = icmp eq i64 %call9, %4
  br i1 %cmp10.not, label %lor.lhs.false11, label %cleanup40

lor.lhs.false11:
  %launching = getelementptr inbounds %struct.table, ptr %call1, i64 0, i32 9
  %5 = load i64, ptr %launching, align 8
  %tobool12.not = icmp eq i64 %5, 0
  br i1 %tobool12.not, label %lor.lhs.false13, label %cleanup40

lor.lhs.false13:
  %cmp11.i = icmp sgt i64 %4, 0
  br i1 %cmp11.i, label %for.body.lr.ph.i, label %read_addresses.exit

for.body.lr.ph.i:
  %given.i = getelementptr inbounds %struct.table, ptr %call1, i64 0, i32 8
  %call.i58 = tail call ptr @PyList_GetItem(ptr %0, i64 0)
  %ob_type.i.i.i59 = getelementptr inbounds %struct._object, ptr %call.i58, i64 0, i32 1
  %6 = load ptr, ptr %ob_type.i.i.i59, align 8
  %cmp.i.not.i60 = icmp eq ptr %6, @PyLong_Type
  br i1 %cmp.i.not.i60, label %if.end.i, label %cleanup40

for.body.i:
  %call.i = tail call ptr @PyList_GetItem(ptr %0, i64 %inc.i)
  %ob_type.i.i.i = getelementptr inbounds %struct._object, ptr %call.i, i64 0, i32 1
  %7 = load ptr, ptr %ob_type.i.i.i, align 8
  %cmp.i.not.i = icmp eq ptr %7, @PyLong_Type
  br i1 %cmp.i.not.i, label %if.end.i, label %read_addresses.exit

if.end.i:
  %call.i62 = phi ptr [ %call.i, %for.body.i ], [ %call.i58, %for.body.lr.ph.i ]
  %k.012.i61 = phi i64 [ %inc.i, %for.body.i ], [ 0, %for.body.lr.ph.i ]
  %call2.i = tail call i64 @PyLong_AsUnsignedLongLong(ptr %call.i62)
  %8 = load ptr, ptr %given.i, align 8
  %arrayidx.i = getelementptr inbounds i64, ptr %8, i64 %k.012.i61
  store i64 %call2.i, ptr %arrayidx.i, align 8
  %inc.i = add nuw nsw i64 %k.012.i61, 1
  %9 = load i64, ptr %addresses, align 8
  %cmp.i57 = icmp slt i64 %inc.i, %9
  br i1 %cmp.i57, label %for.body.i, label %read_addresses.exit

read_addresses.exit:
  %cmp.lcssa.i = phi i1 [ %cmp11.i, %lor.lhs.false13 ], [ %cmp.i57, %for.body.i ], [ %cmp.i57, %if.end.i ]
  br i1 %cmp.lcssa.i, label %cleanup40, label %if.end17

if.end17:
  %call18 = tail call fastcc ptr @find(ptr %call1)
  %10 = load ptr, ptr %arrayidx4, align 8
  %call20 = tail call ptr @PyLong_AsVoidPtr(ptr %10)
  %call21 = tail call ptr @PyErr_Occurred()
  %tobool22.not = icmp eq ptr %call21, null
  br i1 %tobool22.not, label %if.end25, label %if.then23

if.then23:
  tail call void @PyErr_Clear()
  br label %cleanup40

if.end25:
  %cmp26 = icmp eq ptr %call18, null
  br i1 %cmp26, label %cleanup40, label %lor.lhs.false27

lor.lhs.false27:
  %call28 = tail call fastcc zeroext i1 @may_launch(ptr %call1, ptr %call20)
  br i1 %call28, label %if.end31, label %cleanup40

if.end31:
  store i64 1, ptr %launching, align 8
  %call33 = tail call ptr @PyEval_SaveThread()
  %launch = getelementptr inbounds %struct.table, ptr %call1, i64 0, i32 2
  %11 = load ptr, ptr %launch, align 8
  %call34 = tail call i32 %11(ptr %call18, ptr %call20)
  tail call void @PyEval_RestoreThread(ptr %call33)
  store i64 0, ptr %launching, align 8
  %cmp36 = icmp eq i32 %call34, 0
  %cond = select i1 %cmp36, ptr @_Py_TrueStruct, ptr @_Py_NoneStruct
  br label %cleanup40

cleanup40:
  %_Py_NoneStruct.sink = phi ptr [ %cond, %if.end31 ], [ @_Py_NoneStruct, %if.then23 ], [ @_Py_NoneStruct, %lor.lhs.false3 ], [ @_Py_NoneStruct, %lor.lhs.false ], [ @_Py_NoneStruct, %entry ], [ @_Py_NoneStruct, %for.body.lr.ph.i ], [ @_Py_NoneStruct, %read_addresses.exit ], [ @_Py_NoneStruct, %lor.lhs.false11 ], [ @_Py_NoneStruct, %if.end ], [ @_Py_NoneStruct, %lor.lhs.false27 ], [ @_Py_NoneStruct, %if.end25 ]
  tail call void @Py_IncRef(ptr %_Py_NoneStruct.sink)
  ret ptr %_Py_NoneStruct.sink
}

declare ptr @PyLong_AsVoidPtr(ptr)

declare ptr @PyTuple_GetItem(ptr, i64)

declare i64 @PyList_Size(ptr)

define internal fastcc ptr @find(ptr %table) {
entry:
  %graphs = getelementptr inbounds %struct.table, ptr %table, i64 0, i32 6
  %0 = load i64, ptr %graphs, align 8
  %cmp32 = icmp sgt i64 %0, 0
  br i1 %cmp32, label %while.cond.preheader.lr.ph, label %cleanup9

while.cond.preheader.lr.ph:
  %rows = getelementptr inbounds %struct.table, ptr %table, i64 0, i32 7
  %1 = load ptr, ptr %rows, align 8
  %addresses = getelementptr inbounds %struct.table, ptr %table, i64 0, i32 5
  %2 = load i64, ptr %addresses, align 8
  %cmp127 = icmp sgt i64 %2, 0
  %given = getelementptr inbounds %struct.table, ptr %table, i64 0, i32 8
  %add = add nsw i64 %2, 1
  br label %while.cond.preheader

while.cond.preheader:
  %graph.035 = phi i64 [ 0, %while.cond.preheader.lr.ph ], [ %inc7, %for.inc ]
  %row.034 = phi ptr [ %1, %while.cond.preheader.lr.ph ], [ %add.ptr, %for.inc ]
  %retval.033 = phi ptr [ undef, %while.cond.preheader.lr.ph ], [ %retval.1, %for.inc ]
  br i1 %cmp127, label %land.rhs.lr.ph, label %while.end

land.rhs.lr.ph:
  %3 = load ptr, ptr %given, align 8
  br label %land.rhs

land.rhs:
  %same.028 = phi i64 [ 0, %land.rhs.lr.ph ], [ %inc, %while.body ]
  %arrayidx = getelementptr inbounds i64, ptr %row.034, i64 %same.028
  %4 = load i64, ptr %arrayidx, align 8
  %arrayidx2 = getelementptr inbounds i64, ptr %3, i64 %same.028
  %5 = load i64, ptr %arrayidx2, align 8
  %cmp3 = icmp eq i64 %4, %5
  br i1 %cmp3, label %while.body, label %while.end

while.body:
  %inc = add nuw nsw i64 %same.028, 1
  %exitcond.not = icmp eq i64 %inc, %2
  br i1 %exitcond.not, label %while.end, label %land.rhs

while.end:
  %same.0.lcssa = phi i64 [ 0, %while.cond.preheader ], [ %same.028, %land.rhs ], [ %2, %while.body ]
  %cmp5 = icmp eq i64 %same.0.lcssa, %2
  br i1 %cmp5, label %if.then, label %cleanup

if.then:
  %arrayidx6 = getelementptr inbounds i64, ptr %row.034, i64 %same.0.lcssa
  %6 = load i64, ptr %arrayidx6, align 8
  %7 = inttoptr i64 %6 to ptr
  br label %cleanup

cleanup:
  %retval.1 = phi ptr [ %7, %if.then ], [ %retval.033, %while.end ]
  br i1 %cmp5, label %cleanup9, label %for.inc

for.inc:
  %inc7 = add nuw nsw i64 %graph.035, 1
  %add.ptr = getelementptr inbounds i64, ptr %row.034, i64 %add
  %exitcond38.not = icmp eq i64 %inc7, %0
  br i1 %exitcond38.not, label %cleanup9, label %while.cond.preheader

cleanup9:
  %spec.select = phi ptr [ null, %entry ], [ %retval.1, %cleanup ], [ null, %for.inc ]
  ret ptr %spec.select
}

declare ptr @PyErr_Occurred()

declare void @PyErr_Clear()

define internal fastcc zeroext i1 @may_launch(ptr %table, ptr %stream) {
entry:
  %current = alloca ptr, align 8
  %capturing = alloca i32, align 4
  store ptr null, ptr %current, align 8
  store i32 0, ptr %capturing, align 4
  %0 = load ptr, ptr %table, align 8
  %call = call i32 %0(ptr %current)
  %1 = load ptr, ptr %current, align 8
  %context = getelementptr inbounds %struct.table, ptr %table, i64 0, i32 3
  %2 = load ptr, ptr %context, align 8
  %cmp.not = icmp eq ptr %1, %2
  br i1 %cmp.not, label %if.end, label %cleanup

if.end:
  %never_captured = getelementptr inbounds %struct.table, ptr %table, i64 0, i32 4
  %3 = load ptr, ptr %never_captured, align 8
  %cmp1 = icmp eq ptr %3, %stream
  br i1 %cmp1, label %cleanup, label %if.end3

if.end3:
  %is_capturing = getelementptr inbounds %struct.table, ptr %table, i64 0, i32 1
  %4 = load ptr, ptr %is_capturing, align 8
  %call4 = call i32 %4(ptr %stream, ptr %capturing)
  %cmp5 = icmp eq i32 %call4, 0
  %5 = load i32, ptr %capturing, align 4
  %cmp6 = icmp eq i32 %5, 0
  %6 = select i1 %cmp5, i1 %cmp6, i1 false
  br label %cleanup

cleanup:
  %retval.0 = phi i1 [ %6, %if.end3 ], [ false, %entry ], [ true, %if.end ]
  ret i1 %retval.0
}

declare ptr @PyEval_SaveThread()

declare void @PyEval_RestoreThread(ptr)

declare void @Py_IncRef(ptr)

declare ptr @PyList_GetItem(ptr, i64)

declare i64 @PyLong_AsUnsignedLongLong(ptr)

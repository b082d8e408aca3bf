; LLVM's text of team.c, by `make texts` with
; Debian clang version 15.0.6, Python 3.11, NumPy 2.4.6
; SHA-256 of the C: bc682f600c6230e53e56b37f1e4701fde1336ca09d44c18e09815267e1e15783

%struct.kernel = type { ptr, i64, [0 x i64] }
%struct.team = type { i64, [56 x i8], i64, [56 x i8], i64, [56 x i8], ptr, i64, i64, %struct.cores, [16 x i8], [128 x i8], [128 x i8] }
%struct.cores = type { ptr, ptr, ptr }
%struct.cpu_set_t = type { [16 x i64] }

define void @alone(ptr %table, i64 %rows, i64 %width) {
entry:
  %cmp3 = icmp sgt i64 %rows, 0
  br i1 %cmp3, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  ret void

for.body:
  %row.04 = phi i64 [ %inc, %for.body ], [ 0, %entry ]
  %mul.i = mul nsw i64 %row.04, %width
  %add.ptr.i = getelementptr inbounds i64, ptr %table, i64 %mul.i
  %units.i = getelementptr inbounds %struct.kernel, ptr %add.ptr.i, i64 0, i32 1
  %0 = load i64, ptr %units.i, align 8
  %1 = load ptr, ptr %add.ptr.i, align 8
  %given.i = getelementptr inbounds %struct.kernel, ptr %add.ptr.i, i64 0, i32 2
  tail call void %1(ptr %given.i, i64 0, i64 0, i64 %0)
  %inc = add nuw nsw i64 %row.04, 1
  %exitcond.not = icmp eq i64 %inc, %rows
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body
}

define void @spread(ptr %team, ptr %table, i64 %rows, i64 %width, i64 %most) {
entry:
  %busy = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 8
  %0 = cmpxchg ptr %busy, i64 0, i64 1 acquire monotonic, align 8
  %1 = extractvalue { i64, i1 } %0, 1
  br i1 %1, label %if.end, label %if.then

if.then:
  %cmp3.i = icmp sgt i64 %rows, 0
  br i1 %cmp3.i, label %for.body.i, label %cleanup

for.body.i:
  %row.04.i = phi i64 [ %inc.i, %for.body.i ], [ 0, %if.then ]
  %mul.i.i = mul nsw i64 %row.04.i, %width
  %add.ptr.i.i = getelementptr inbounds i64, ptr %table, i64 %mul.i.i
  %units.i.i = getelementptr inbounds %struct.kernel, ptr %add.ptr.i.i, i64 0, i32 1
  %2 = load i64, ptr %units.i.i, align 8
  %3 = load ptr, ptr %add.ptr.i.i, align 8
  %given.i.i = getelementptr inbounds %struct.kernel, ptr %add.ptr.i.i, i64 0, i32 2
  tail call void %3(ptr %given.i.i, i64 0, i64 0, i64 %2)
  %inc.i = add nuw nsw i64 %row.04.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %rows
  br i1 %exitcond.not.i, label %cleanup, label %for.body.i

if.end:
  %cores = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 9
  %4 = load ptr, ptr %cores, align 8
  %tobool.not.i = icmp eq ptr %4, null
  br i1 %tobool.not.i, label %current_core.exit, label %cond.true.i

cond.true.i:
  %call.i = tail call i32 %4()
  %phi.cast.i = sext i32 %call.i to i64
  br label %current_core.exit

current_core.exit:
  %cond.i = phi i64 [ %phi.cast.i, %cond.true.i ], [ -1, %if.end ]
  %core = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 7
  store i64 %cond.i, ptr %core, align 8
  %cmp29 = icmp sgt i64 %rows, 0
  br i1 %cmp29, label %for.body.lr.ph, label %for.cond.cleanup

for.body.lr.ph:
  %kernel1.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 6
  %done.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 2
  %sleeping.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 4
  %mutex.i.i.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 11
  %condition.i.i.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 12
  br label %for.body

for.cond.cleanup:
  store atomic i64 0, ptr %busy release, align 16
  br label %cleanup

for.body:
  %row.030 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %if.end6 ]
  %mul.i = mul nsw i64 %row.030, %width
  %add.ptr.i = getelementptr inbounds i64, ptr %table, i64 %mul.i
  %units = getelementptr inbounds %struct.kernel, ptr %add.ptr.i, i64 0, i32 1
  %5 = load i64, ptr %units, align 8
  %6 = tail call i64 @llvm.smin.i64(i64 %5, i64 %most)
  %cmp4 = icmp sgt i64 %6, 1
  br i1 %cmp4, label %if.then5, label %if.else

if.then5:
  store ptr %add.ptr.i, ptr %kernel1.i, align 64
  store atomic i64 0, ptr %done.i monotonic, align 64
  %7 = load atomic i64, ptr %team monotonic, align 64
  %8 = add i64 %7, 4294967296
  %shl.i = and i64 %8, -4294967296
  %shl2.i = shl i64 %6, 16
  %or.i = or i64 %shl2.i, %shl.i
  %or3.i = or i64 %or.i, 1
  store atomic i64 %or3.i, ptr %team seq_cst, align 64
  %9 = load atomic i64, ptr %sleeping.i seq_cst, align 64
  %cmp.not.i = icmp eq i64 %9, 0
  br i1 %cmp.not.i, label %if.end.i, label %if.then.i

if.then.i:
  %call1.i.i = tail call i32 @pthread_mutex_lock(ptr %mutex.i.i.i)
  %call3.i.i = tail call i32 @pthread_cond_signal(ptr %condition.i.i.i)
  %call5.i.i = tail call i32 @pthread_mutex_unlock(ptr %mutex.i.i.i)
  br label %if.end.i

if.end.i:
  %10 = load i64, ptr %units, align 8
  %div3.i.i = sdiv i64 %10, %6
  %11 = load ptr, ptr %add.ptr.i, align 8
  %given.i.i24 = getelementptr inbounds %struct.kernel, ptr %add.ptr.i, i64 0, i32 2
  tail call void %11(ptr %given.i.i24, i64 0, i64 0, i64 %div3.i.i)
  br label %for.cond.i

for.cond.i:
  %12 = atomicrmw add ptr %done.i, i64 1 acq_rel, align 8
  %13 = load atomic i64, ptr %team acquire, align 64
  br label %while.cond.i.i

while.cond.i.i:
  %now.0.i.i = phi i64 [ %13, %for.cond.i ], [ %16, %while.body.i.i ]
  %and.i.i.i = and i64 %now.0.i.i, 65535
  %shr.i.i.i = lshr i64 %now.0.i.i, 16
  %and.i9.i.i = and i64 %shr.i.i.i, 65535
  %cmp.i.i = icmp ult i64 %and.i.i.i, %and.i9.i.i
  br i1 %cmp.i.i, label %while.body.i.i, label %claim.exit.i

while.body.i.i:
  %add.i.i = add i64 %now.0.i.i, 1
  %14 = cmpxchg ptr %team, i64 %now.0.i.i, i64 %add.i.i acq_rel acquire, align 8
  %15 = extractvalue { i64, i1 } %14, 1
  %16 = extractvalue { i64, i1 } %14, 0
  br i1 %15, label %if.then.i.i, label %while.cond.i.i

if.then.i.i:
  %17 = extractvalue { i64, i1 } %14, 0
  %and.i10.i.i = and i64 %17, 65535
  br label %claim.exit.i

claim.exit.i:
  %retval.0.i.i = phi i64 [ %and.i10.i.i, %if.then.i.i ], [ -1, %while.cond.i.i ]
  %cmp7.not.i = icmp eq i64 %retval.0.i.i, -1
  br i1 %cmp7.not.i, label %for.cond8.preheader.i, label %for.body.i26

for.cond8.preheader.i:
  %18 = load atomic i64, ptr %done.i acquire, align 64
  %cmp1141.i = icmp slt i64 %18, %6
  br i1 %cmp1141.i, label %for.body13.i, label %if.end6

for.body.i26:
  %19 = load i64, ptr %units, align 8
  %mul.i.i25 = mul nsw i64 %19, %retval.0.i.i
  %div.i.i = sdiv i64 %mul.i.i25, %6
  %add.i36.i = add nsw i64 %retval.0.i.i, 1
  %mul2.i.i = mul nsw i64 %19, %add.i36.i
  %div3.i37.i = sdiv i64 %mul2.i.i, %6
  %20 = load ptr, ptr %add.ptr.i, align 8
  tail call void %20(ptr %given.i.i24, i64 0, i64 %div.i.i, i64 %div3.i37.i)
  br label %for.cond.i

for.body13.i:
  %turn.042.i = phi i32 [ %inc.i27, %for.inc18.i ], [ 1, %for.cond8.preheader.i ]
  %rem.i = urem i32 %turn.042.i, 51
  %cmp14.i = icmp eq i32 %rem.i, 0
  br i1 %cmp14.i, label %if.then15.i, label %if.else.i

if.then15.i:
  %call16.i = tail call i32 @sched_yield()
  br label %for.inc18.i

if.else.i:
  tail call void @pause_core()
  br label %for.inc18.i

for.inc18.i:
  %inc.i27 = add nuw nsw i32 %turn.042.i, 1
  %21 = load atomic i64, ptr %done.i acquire, align 64
  %cmp11.i = icmp slt i64 %21, %6
  br i1 %cmp11.i, label %for.body13.i, label %if.end6

if.else:
  %22 = load ptr, ptr %add.ptr.i, align 8
  %given.i = getelementptr inbounds %struct.kernel, ptr %add.ptr.i, i64 0, i32 2
  tail call void %22(ptr %given.i, i64 0, i64 0, i64 %5)
  br label %if.end6

if.end6:
  %inc = add nuw nsw i64 %row.030, 1
  %exitcond.not = icmp eq i64 %inc, %rows
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

cleanup:
  ret void
}

define void @work(ptr %team, i64 %thread, i64 %patience) {
entry:
  %allowed.i = alloca %struct.cpu_set_t, align 8
  %others.i = alloca %struct.cpu_set_t, align 8
  %kernel1 = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 6
  %cores1.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 9
  %core.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 7
  %get_allowed.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 9, i32 1
  %set_allowed.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 9, i32 2
  %done.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 2
  %mutex.i.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 11
  %sleeping.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 4
  %condition.i.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 12
  br label %for.cond

for.cond:
  %turn.0 = phi i64 [ 1, %entry ], [ %inc, %if.end10 ]
  %0 = load atomic i64, ptr %team acquire, align 64
  br label %while.cond.i

while.cond.i:
  %now.0.i = phi i64 [ %0, %for.cond ], [ %3, %while.body.i ]
  %and.i.i = and i64 %now.0.i, 65535
  %shr.i.i = lshr i64 %now.0.i, 16
  %and.i9.i = and i64 %shr.i.i, 65535
  %cmp.i = icmp ult i64 %and.i.i, %and.i9.i
  br i1 %cmp.i, label %while.body.i, label %claim.exit

while.body.i:
  %add.i = add i64 %now.0.i, 1
  %1 = cmpxchg ptr %team, i64 %now.0.i, i64 %add.i acq_rel acquire, align 8
  %2 = extractvalue { i64, i1 } %1, 1
  %3 = extractvalue { i64, i1 } %1, 0
  br i1 %2, label %if.then.i, label %while.cond.i

if.then.i:
  %4 = extractvalue { i64, i1 } %1, 0
  %and.i10.i = and i64 %4, 65535
  br label %claim.exit

claim.exit:
  %retval.0.i = phi i64 [ %and.i10.i, %if.then.i ], [ -1, %while.cond.i ]
  %cmp.not = icmp eq i64 %retval.0.i, -1
  br i1 %cmp.not, label %if.else, label %if.then

if.then:
  %5 = load atomic i64, ptr %team monotonic, align 64
  %6 = load ptr, ptr %kernel1, align 64
  %7 = load ptr, ptr %cores1.i, align 8
  %tobool.not.i.i = icmp eq ptr %7, null
  br i1 %tobool.not.i.i, label %current_core.exit.i, label %cond.true.i.i

cond.true.i.i:
  %call.i.i = call i32 %7()
  %phi.cast.i.i = sext i32 %call.i.i to i64
  br label %current_core.exit.i

current_core.exit.i:
  %cond.i.i = phi i64 [ %phi.cast.i.i, %cond.true.i.i ], [ -1, %if.then ]
  %8 = load i64, ptr %core.i, align 8
  %cmp.i19 = icmp ne i64 %cond.i.i, %8
  %9 = icmp ugt i64 %cond.i.i, 1023
  %10 = or i1 %9, %cmp.i19
  br i1 %10, label %leave_callers_core.exit, label %if.end.i

if.end.i:
  %11 = load ptr, ptr %get_allowed.i, align 8
  %call5.i = call i32 %11(i32 0, i64 128, ptr %allowed.i)
  %cmp6.not.i = icmp eq i32 %call5.i, 0
  br i1 %cmp6.not.i, label %if.end8.i, label %leave_callers_core.exit

if.end8.i:
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %others.i, ptr align 8 %allowed.i, i64 128, i1 false)
  %rem.i = and i64 %cond.i.i, 63
  %shl.i = shl i64 1, %rem.i
  %neg.i = xor i64 %shl.i, -1
  %div1026.i = lshr i64 %cond.i.i, 6
  %arrayidx.i = getelementptr inbounds i64, ptr %others.i, i64 %div1026.i
  %12 = load i64, ptr %arrayidx.i, align 8
  %and.i = and i64 %12, %neg.i
  store i64 %and.i, ptr %arrayidx.i, align 8
  %13 = load ptr, ptr %set_allowed.i, align 8
  %call11.i = call i32 %13(i32 0, i64 128, ptr %others.i)
  %14 = load ptr, ptr %set_allowed.i, align 8
  %call13.i = call i32 %14(i32 0, i64 128, ptr %allowed.i)
  br label %leave_callers_core.exit

leave_callers_core.exit:
  %shr.i = lshr i64 %5, 16
  %and.i20 = and i64 %shr.i, 65535
  %units.i = getelementptr inbounds %struct.kernel, ptr %6, i64 0, i32 1
  %15 = load i64, ptr %units.i, align 8
  %mul.i = mul nsw i64 %15, %retval.0.i
  %div.i = sdiv i64 %mul.i, %and.i20
  %add.i21 = add nsw i64 %retval.0.i, 1
  %mul2.i = mul nsw i64 %15, %add.i21
  %div3.i = sdiv i64 %mul2.i, %and.i20
  %16 = load ptr, ptr %6, align 8
  %given.i = getelementptr inbounds %struct.kernel, ptr %6, i64 0, i32 2
  call void %16(ptr %given.i, i64 %thread, i64 %div.i, i64 %div3.i)
  %17 = atomicrmw add ptr %done.i, i64 1 acq_rel, align 8
  br label %if.end10

if.else:
  %cmp3 = icmp sgt i64 %turn.0, %patience
  br i1 %cmp3, label %if.then4, label %if.else5

if.then4:
  %call1.i = call i32 @pthread_mutex_lock(ptr %mutex.i.i)
  %18 = atomicrmw add ptr %sleeping.i, i64 1 seq_cst, align 8
  %19 = load atomic i64, ptr %team seq_cst, align 64
  %and.i.i22 = and i64 %19, 65535
  %shr.i.i23 = lshr i64 %19, 16
  %and.i36.i = and i64 %shr.i.i23, 65535
  %cmp.i24 = icmp ult i64 %and.i.i22, %and.i36.i
  br i1 %cmp.i24, label %if.then.i25, label %if.end.i26

if.then.i25:
  %20 = atomicrmw sub ptr %sleeping.i, i64 1 seq_cst, align 8
  %call9.i = call i32 @pthread_mutex_unlock(ptr %mutex.i.i)
  br label %if.end10

if.end.i26:
  %call12.i = call i32 @pthread_cond_wait(ptr %condition.i.i, ptr %mutex.i.i)
  %21 = atomicrmw sub ptr %sleeping.i, i64 1 seq_cst, align 8
  %call17.i = call i32 @pthread_mutex_unlock(ptr %mutex.i.i)
  %cmp18.i = icmp sgt i64 %21, 1
  br i1 %cmp18.i, label %if.then19.i, label %if.end10

if.then19.i:
  %call21.i = call i32 @pthread_cond_signal(ptr %condition.i.i)
  %call23.i = call i32 @pthread_cond_signal(ptr %condition.i.i)
  br label %if.end10

if.else5:
  call void @pause_core()
  %rem = srem i64 %turn.0, 50
  %cmp6 = icmp eq i64 %rem, 0
  br i1 %cmp6, label %if.then7, label %if.end10

if.then7:
  %call8 = call i32 @sched_yield()
  br label %if.end10

if.end10:
  %turn.1 = phi i64 [ 0, %leave_callers_core.exit ], [ %turn.0, %if.then7 ], [ %turn.0, %if.else5 ], [ 0, %if.then.i25 ], [ 0, %if.end.i26 ], [ 0, %if.then19.i ]
  %inc = add nsw i64 %turn.1, 1
  br label %for.cond
}

declare void @pause_core()

declare i32 @sched_yield()

define void @prepare(ptr %team, ptr %cores) {
entry:
  %cores1 = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 9
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 8 %cores1, ptr align 8 %cores, i64 24, i1 false)
  %mutex.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 11
  %call2 = tail call i32 @pthread_mutex_init(ptr %mutex.i, ptr null)
  %condition.i = getelementptr inbounds %struct.team, ptr %team, i64 0, i32 12
  %call4 = tail call i32 @pthread_cond_init(ptr %condition.i, ptr null)
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)

declare i32 @pthread_mutex_init(ptr, ptr)

declare i32 @pthread_cond_init(ptr, ptr)

declare i32 @pthread_mutex_lock(ptr)

declare i32 @pthread_cond_signal(ptr)

declare i32 @pthread_mutex_unlock(ptr)

declare i32 @pthread_cond_wait(ptr, ptr)

declare i64 @llvm.smin.i64(i64, i64)

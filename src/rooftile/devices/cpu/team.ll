; A team of threads that run kernels one after the other, a share of the units each.
;
; A kernel is a row of a table: its entry, its units, then what the entry is given.  `alone` does
; everything on the calling thread.  `spread` offers the shares of each kernel, which the caller and
; the threads that run `work` claim: whoever sleeps or is late is not waited for.
;
; The state of a team, in words of 8 bytes; what threads write often has a cache line of its own:
;    0  the offer: number of the kernel << 32 | shares << 16 | first share that nobody has claimed
;    8  shares that are done       16 threads that sleep
;   24  the row of the kernel      25 the caller's core      26 whether a caller has the team
;   32  mutex  48 condition

declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @sched_yield()
declare i64 @llvm.smin.i64(i64, i64)

define void @alone(ptr %table, i64 %rows, i64 %width) {
start:
  br label %each
each:
  %k = phi i64 [ 0, %start ], [ %next, %row ]
  %more = icmp slt i64 %k, %rows
  br i1 %more, label %row, label %done
row:
  %at = mul i64 %k, %width
  %place = getelementptr i64, ptr %table, i64 %at
  call void @share(ptr %place, i64 0, i64 0, i64 1)
  %next = add i64 %k, 1
  br label %each
done:
  ret void
}

; One share of a kernel's units.
define internal void @share(ptr %row, i64 %thread, i64 %share, i64 %shares) {
  %entry = load ptr, ptr %row
  %units.at = getelementptr i64, ptr %row, i64 1
  %units = load i64, ptr %units.at
  %given = getelementptr i64, ptr %row, i64 2
  %following = add i64 %share, 1
  %first.units = mul i64 %units, %share
  %last.units = mul i64 %units, %following
  %first = sdiv i64 %first.units, %shares
  %last = sdiv i64 %last.units, %shares
  call void %entry(ptr %given, i64 %thread, i64 %first, i64 %last)
  ret void
}

; One caller at a time has the team; who finds it busy does everything alone.
define void @spread(ptr %state, ptr %table, i64 %rows, i64 %width, i64 %most) {
start:
  %busy.at = getelementptr i64, ptr %state, i64 26
  %tried = cmpxchg ptr %busy.at, i64 0, i64 1 acquire monotonic
  %free = extractvalue { i64, i1 } %tried, 1
  br i1 %free, label %mine, label %busy
busy:
  call void @alone(ptr %table, i64 %rows, i64 %width)
  ret void
mine:
  %core.at = getelementptr i64, ptr %state, i64 25
  %core = call i64 @core()
  store i64 %core, ptr %core.at
  br label %each
each:
  %k = phi i64 [ 0, %mine ], [ %next, %row.done ]
  %more = icmp slt i64 %k, %rows
  br i1 %more, label %row, label %done
row:
  %at = mul i64 %k, %width
  %place = getelementptr i64, ptr %table, i64 %at
  %units.at = getelementptr i64, ptr %place, i64 1
  %units = load i64, ptr %units.at
  %shares = call i64 @llvm.smin.i64(i64 %most, i64 %units)
  %several = icmp sgt i64 %shares, 1
  br i1 %several, label %together, label %by.itself
by.itself:
  call void @share(ptr %place, i64 0, i64 0, i64 1)
  br label %row.done
together:
  call void @offer(ptr %state, ptr %place, i64 %shares)
  br label %row.done
row.done:
  %next = add i64 %k, 1
  br label %each
done:
  store atomic i64 0, ptr %busy.at release, align 8
  ret void
}

; Offers the shares of a kernel, claims what is left of them, and waits until all are done.
define internal void @offer(ptr %state, ptr %row, i64 %shares) {
start:
  %done.at = getelementptr i64, ptr %state, i64 8
  %sleeping.at = getelementptr i64, ptr %state, i64 16
  %row.at = getelementptr i64, ptr %state, i64 24
  store ptr %row, ptr %row.at
  store atomic i64 0, ptr %done.at monotonic, align 8
  ; The first share is the caller's.
  %old = load atomic i64, ptr %state monotonic, align 8
  %old.number = lshr i64 %old, 32
  %number = add i64 %old.number, 1
  %number.bits = shl i64 %number, 32
  %shares.bits = shl i64 %shares, 16
  %both.bits = or i64 %number.bits, %shares.bits
  %offer = or i64 %both.bits, 1
  ; Whoever is about to sleep has said so before it looks at the offer once more.
  store atomic i64 %offer, ptr %state seq_cst, align 8
  %sleeping = load atomic i64, ptr %sleeping.at seq_cst, align 8
  %nobody = icmp eq i64 %sleeping, 0
  br i1 %nobody, label %own, label %wake
wake:
  %mutex = getelementptr i64, ptr %state, i64 32
  %condition = getelementptr i64, ptr %state, i64 48
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  ; That one wakes others, while the caller computes: on a virtual machine each takes its time.
  %woken = call i32 @pthread_cond_signal(ptr %condition)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %own
own:
  call void @share(ptr %row, i64 0, i64 0, i64 %shares)
  %first.done = atomicrmw add ptr %done.at, i64 1 acq_rel
  br label %claim
claim:
  %claimed = call i64 @claim(ptr %state)
  %none = icmp slt i64 %claimed, 0
  br i1 %none, label %wait, label %other
other:
  call void @share(ptr %row, i64 0, i64 %claimed, i64 %shares)
  %other.done = atomicrmw add ptr %done.at, i64 1 acq_rel
  br label %claim
wait:
  %turn = phi i64 [ 0, %claim ], [ %turn.next, %again ], [ 0, %yield ]
  %done = load atomic i64, ptr %done.at acquire, align 8
  %all = icmp sge i64 %done, %shares
  br i1 %all, label %end, label %again.or.yield
again.or.yield:
  %turn.next = add i64 %turn, 1
  %long = icmp sgt i64 %turn.next, 50
  br i1 %long, label %yield, label %again
again:
  call void @pause()
  br label %wait
yield:
  ; Somebody else may have the core of a thread that is waited for: this thread itself, even.
  %yielded = call i32 @sched_yield()
  br label %wait
end:
  ret void
}

; The number of a share that is the calling thread's from now on; -1 where none is left.
define internal i64 @claim(ptr %state) {
start:
  br label %look
look:
  %offer = load atomic i64, ptr %state acquire, align 8
  %share = and i64 %offer, 65535
  %shares.bits = lshr i64 %offer, 16
  %shares = and i64 %shares.bits, 65535
  %left = icmp ult i64 %share, %shares
  br i1 %left, label %try, label %none
try:
  %less = add i64 %offer, 1
  %tried = cmpxchg ptr %state, i64 %offer, i64 %less acq_rel acquire
  %taken = extractvalue { i64, i1 } %tried, 1
  br i1 %taken, label %mine, label %look
mine:
  ret i64 %share
none:
  ret i64 -1
}

define void @work(ptr %state, i64 %thread, i64 %patience) {
start:
  %done.at = getelementptr i64, ptr %state, i64 8
  %sleeping.at = getelementptr i64, ptr %state, i64 16
  %row.at = getelementptr i64, ptr %state, i64 24
  %mutex = getelementptr i64, ptr %state, i64 32
  %condition = getelementptr i64, ptr %state, i64 48
  br label %idle
idle:
  br label %look
look:
  %turn = phi i64 [ 0, %idle ], [ %turn.next, %again ], [ %turn.next, %yield ]
  %share = call i64 @claim(ptr %state)
  %none = icmp slt i64 %share, 0
  br i1 %none, label %again.or.sleep, label %compute
compute:
  ; What was offered stays as it is until this share is done.
  %row = load ptr, ptr %row.at
  %offer = load atomic i64, ptr %state monotonic, align 8
  %shares.bits = lshr i64 %offer, 16
  %shares = and i64 %shares.bits, 65535
  call void @leave_callers_core(ptr %state)
  call void @share(ptr %row, i64 %thread, i64 %share, i64 %shares)
  %finished = atomicrmw add ptr %done.at, i64 1 acq_rel
  br label %idle
again.or.sleep:
  %turn.next = add i64 %turn, 1
  %long = icmp sgt i64 %turn.next, %patience
  br i1 %long, label %sleep, label %again
again:
  call void @pause()
  %of.fifty = urem i64 %turn.next, 50
  %due = icmp eq i64 %of.fifty, 0
  br i1 %due, label %yield, label %look
yield:
  %yielded = call i32 @sched_yield()
  br label %look
sleep:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %asleep = atomicrmw add ptr %sleeping.at, i64 1 seq_cst
  %seen = load atomic i64, ptr %state seq_cst, align 8
  %seen.share = and i64 %seen, 65535
  %seen.bits = lshr i64 %seen, 16
  %seen.shares = and i64 %seen.bits, 65535
  %left = icmp ult i64 %seen.share, %seen.shares
  br i1 %left, label %up, label %rest
up:
  %awake = atomicrmw sub ptr %sleeping.at, i64 1 seq_cst
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %idle
rest:
  %rested = call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  %were.asleep = atomicrmw sub ptr %sleeping.at, i64 1 seq_cst
  %left.free = call i32 @pthread_mutex_unlock(ptr %mutex)
  %others = icmp sgt i64 %were.asleep, 1
  br i1 %others, label %wake, label %idle
wake:
  %one = call i32 @pthread_cond_signal(ptr %condition)
  %another = call i32 @pthread_cond_signal(ptr %condition)
  br label %idle
}

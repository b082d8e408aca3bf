; A team of threads that run kernels one after the other, a share of the units each.
;
; A kernel is a row of a table: its entry, its units, then what the entry is given.  `alone` does
; everything on the calling thread.  `spread` has thread 0, the caller, and those that run `work`
; do their shares and meet after each kernel.
;
; The state of a team, in words of 8 bytes; what threads write often has a cache line of its own:
;   0  number of the job          8  arrivals at meetings, ever    16  threads that sleep
;   24 table  25 rows  26 words of a row  27 threads  28 arrivals before the job
;   32 mutex  48 condition

declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
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
  %entry = load ptr, ptr %place
  %units.at = getelementptr i64, ptr %place, i64 1
  %units = load i64, ptr %units.at
  %given = getelementptr i64, ptr %place, i64 2
  call void %entry(ptr %given, i64 0, i64 0, i64 %units)
  %next = add i64 %k, 1
  br label %each
done:
  ret void
}

define void @spread(ptr %state, ptr %table, i64 %rows, i64 %width, i64 %threads) {
start:
  %table.at = getelementptr i64, ptr %state, i64 24
  %rows.at = getelementptr i64, ptr %state, i64 25
  %width.at = getelementptr i64, ptr %state, i64 26
  %threads.at = getelementptr i64, ptr %state, i64 27
  %before.at = getelementptr i64, ptr %state, i64 28
  %arrived.at = getelementptr i64, ptr %state, i64 8
  %sleeping.at = getelementptr i64, ptr %state, i64 16
  store ptr %table, ptr %table.at
  store i64 %rows, ptr %rows.at
  store i64 %width, ptr %width.at
  store i64 %threads, ptr %threads.at
  %before = load atomic i64, ptr %arrived.at acquire, align 8
  store i64 %before, ptr %before.at
  ; Whoever is about to sleep has said so before it looks at this number once more.
  %old = atomicrmw add ptr %state, i64 1 seq_cst
  %sleeping = load atomic i64, ptr %sleeping.at seq_cst, align 8
  %nobody = icmp eq i64 %sleeping, 0
  br i1 %nobody, label %share, label %wake
wake:
  %mutex = getelementptr i64, ptr %state, i64 32
  %condition = getelementptr i64, ptr %state, i64 48
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %woken = call i32 @pthread_cond_broadcast(ptr %condition)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %share
share:
  call void @share(ptr %state, i64 0)
  ret void
}

define internal void @share(ptr %state, i64 %thread) {
start:
  %table.at = getelementptr i64, ptr %state, i64 24
  %rows.at = getelementptr i64, ptr %state, i64 25
  %width.at = getelementptr i64, ptr %state, i64 26
  %threads.at = getelementptr i64, ptr %state, i64 27
  %before.at = getelementptr i64, ptr %state, i64 28
  %arrived.at = getelementptr i64, ptr %state, i64 8
  %table = load ptr, ptr %table.at
  %rows = load i64, ptr %rows.at
  %width = load i64, ptr %width.at
  %threads = load i64, ptr %threads.at
  %before = load i64, ptr %before.at
  br label %each
each:
  %k = phi i64 [ 0, %start ], [ %next, %met ]
  %wanted.before = phi i64 [ %before, %start ], [ %wanted, %met ]
  %wanted = add i64 %wanted.before, %threads
  %at = mul i64 %k, %width
  %place = getelementptr i64, ptr %table, i64 %at
  %entry = load ptr, ptr %place
  %units.at = getelementptr i64, ptr %place, i64 1
  %units = load i64, ptr %units.at
  %shares = call i64 @llvm.smin.i64(i64 %threads, i64 %units)
  %mine = icmp slt i64 %thread, %shares
  br i1 %mine, label %compute, label %arrive
compute:
  %given = getelementptr i64, ptr %place, i64 2
  %following = add i64 %thread, 1
  %first.units = mul i64 %units, %thread
  %last.units = mul i64 %units, %following
  %first = sdiv i64 %first.units, %shares
  %last = sdiv i64 %last.units, %shares
  call void %entry(ptr %given, i64 %thread, i64 %first, i64 %last)
  br label %arrive
arrive:
  %others = atomicrmw add ptr %arrived.at, i64 1 acq_rel
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %rows
  %caller = icmp eq i64 %thread, 0
  %stays = or i1 %more, %caller
  ; After the last kernel only the caller waits for the others.
  br i1 %stays, label %wait, label %done
wait:
  %turn = phi i64 [ 0, %arrive ], [ %turn.next, %again ], [ 0, %yield ]
  %arrived = load atomic i64, ptr %arrived.at acquire, align 8
  %all = icmp sge i64 %arrived, %wanted
  br i1 %all, label %met, label %again.or.yield
again.or.yield:
  %turn.next = add i64 %turn, 1
  %long = icmp sgt i64 %turn.next, 1000
  br i1 %long, label %yield, label %again
again:
  call void @pause()
  br label %wait
yield:
  ; Another process may have the core of a thread that is waited for.
  %yielded = call i32 @sched_yield()
  br label %wait
met:
  br i1 %more, label %each, label %done
done:
  ret void
}

define void @work(ptr %state, i64 %thread, i64 %patience) {
start:
  %sleeping.at = getelementptr i64, ptr %state, i64 16
  %mutex = getelementptr i64, ptr %state, i64 32
  %condition = getelementptr i64, ptr %state, i64 48
  br label %idle
idle:
  %job = phi i64 [ 0, %start ], [ %following, %go ]
  br label %look
look:
  %turn = phi i64 [ 0, %idle ], [ %turn.next, %again ]
  %now = load atomic i64, ptr %state acquire, align 8
  %new = icmp ne i64 %now, %job
  br i1 %new, label %go, label %again.or.sleep
again.or.sleep:
  %turn.next = add i64 %turn, 1
  %long = icmp sgt i64 %turn.next, %patience
  br i1 %long, label %sleep, label %again
again:
  call void @pause()
  br label %look
sleep:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %asleep = atomicrmw add ptr %sleeping.at, i64 1 seq_cst
  br label %still
still:
  %seen = load atomic i64, ptr %state seq_cst, align 8
  %same = icmp eq i64 %seen, %job
  br i1 %same, label %rest, label %up
rest:
  %rested = call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %still
up:
  %awake = atomicrmw sub ptr %sleeping.at, i64 1 seq_cst
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %go
go:
  call void @share(ptr %state, i64 %thread)
  %following = add i64 %job, 1
  br label %idle
}

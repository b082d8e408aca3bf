; The part of `team.ll` that asks Linux for cores.

declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

define internal i64 @core() {
  %core = call i32 @sched_getcpu()
  %wide = sext i32 %core to i64
  ret i64 %wide
}

; A thread that was woken on its caller's core would take turns with it, and may stay there for
; seconds: it goes to any other core that it may use, and may go anywhere from there.
define internal void @leave_callers_core(ptr %state) {
start:
  %allowed = alloca [16 x i64], align 8
  %others = alloca [16 x i64], align 8
  %callers.at = getelementptr i64, ptr %state, i64 25
  %callers = load i64, ptr %callers.at
  %mine = call i64 @core()
  %same = icmp eq i64 %mine, %callers
  br i1 %same, label %ask, label %done
ask:
  %refused = call i32 @sched_getaffinity(i32 0, i64 128, ptr %allowed)
  %known = icmp eq i32 %refused, 0
  %few = icmp ult i64 %mine, 1024
  %can = and i1 %known, %few
  br i1 %can, label %move, label %done
move:
  call void @llvm.memcpy.p0.p0.i64(ptr %others, ptr %allowed, i64 128, i1 false)
  %word = lshr i64 %mine, 6
  %bit = and i64 %mine, 63
  %word.at = getelementptr i64, ptr %others, i64 %word
  %held = load i64, ptr %word.at
  %mask = shl i64 1, %bit
  %cleared = xor i64 %mask, -1
  %left = and i64 %held, %cleared
  store i64 %left, ptr %word.at
  ; Where no other core is allowed this is refused, and nothing happens.
  %moved = call i32 @sched_setaffinity(i32 0, i64 128, ptr %others)
  %free = call i32 @sched_setaffinity(i32 0, i64 128, ptr %allowed)
  br label %done
done:
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

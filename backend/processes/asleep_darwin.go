package processes

import (
	"time"

	"golang.org/x/sys/unix"
)

// Asleep is how long the machine has slept since it was booted: the clock that
// counts sleep against the one that does not.
func Asleep() time.Duration {
	var with, without unix.Timespec
	if unix.ClockGettime(unix.CLOCK_UPTIME_RAW, &without) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &with) != nil {
		return 0
	}
	return max(0, time.Duration(with.Nano()-without.Nano()))
}

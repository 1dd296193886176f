package processes

import (
	"os"
	"strconv"
)

// Snapshot reads the whole process table in one pass. A process that cannot
// be read is left out; only that one.
func Snapshot() (*Table, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var buf [1024]byte
	rows := make([]Proc, 0, len(names))
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := readStat(pid, buf[:]); err == nil {
			rows = append(rows, p)
		}
	}
	return NewTable(rows), nil
}

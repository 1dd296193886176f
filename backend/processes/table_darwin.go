package processes

import "golang.org/x/sys/unix"

// Snapshot reads the whole process table in one pass.
func Snapshot() (*Table, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	rows := make([]Proc, 0, len(all))
	for i := range all {
		if all[i].Proc.P_pid > 0 {
			rows = append(rows, fromKinfo(&all[i]))
		}
	}
	return NewTable(rows), nil
}

package agentkit

import "bytes"

// Record is one object of a JSON-lines file as [Records] gives it out. It is
// valid until the next one.
type Record struct {
	// Data is the whole object; of a record that was TooLong, its beginning and
	// its last members, closed so that they are an object again.
	Data []byte
	// Type is the member "type", "" without one.
	Type string
	// Offset and End are those of its line, Size is its length in the file.
	Offset, End, Size int64
	// TooLong marks a record over the limit: the middle of Data is missing. Cut is
	// the member of the record in which it began.
	TooLong bool
	Cut     string
	// Recovered marks a record that stood on one line with a torn one or with
	// NULs.
	Recovered bool

	members []member
}

// Get returns a member of the record as it stands in the text, nil without it.
// The last one of a name counts.
func (r *Record) Get(name string) []byte {
	for i := len(r.members) - 1; i >= 0; i-- {
		if string(r.members[i].key) == name {
			return r.members[i].value
		}
	}
	return nil
}

// Text decodes a member that is a text.
func (r *Record) Text(name string) string { return Text(r.Get(name)) }

// True reports whether a member is true.
func (r *Record) True(name string) bool { return string(r.Get(name)) == "true" }

// RecordCounts says what became of the lines of a file.
type RecordCounts struct {
	// Records were given out. Skipped lines held something that is no record; a
	// record that stood behind it on the line is counted as well. TooLong ones
	// were given out without their middle.
	Records, Skipped, TooLong int
	// Unknown counts records of types that the reader does not know, by type.
	Unknown map[string]int
}

// maxUnknown bounds the names in Unknown; more are counted as "...".
const maxUnknown = 32

// maxTorn bounds how many torn records of one line are looked behind.
const maxTorn = 16

// Records makes records of lines. What is no record is skipped and counted; no
// content stops it. The zero value knows every type. It is used by one
// goroutine.
type Records struct {
	// Known limits what is given out to these types; nil: all.
	Known  map[string]bool
	Counts RecordCounts

	record Record
	note   func(key, value []byte)
	stack  []byte
}

// Take gives out the records of a line: one, none, or several where a writer
// that was killed left no line feed. yield reports whether it could read the
// record.
func (r *Records) Take(l Line, yield func(*Record) bool) {
	data := l.Data
	r.record.Cut = ""
	if l.TooLong {
		if data, r.record.Cut = heal(l.Data, l.Rest); data == nil {
			r.Counts.Skipped++
			return
		}
		r.Counts.TooLong++
	}
	recovered := l.Recovered
	for torn := 0; len(data) > 0; {
		end := r.index(data)
		if end < 0 {
			r.Counts.Skipped++
			if torn++; torn > maxTorn {
				return
			}
			if data = glued(data); data == nil {
				return
			}
			recovered = true
			continue
		}
		rest := bytes.TrimSpace(data[end:])
		r.give(data[:end], l, recovered, yield)
		if data = rest; len(data) > 0 {
			recovered = true
		}
	}
}

// index finds the members of the object that data begins with and returns the
// position after it; -1 when there is none.
func (r *Records) index(data []byte) int {
	r.record.members = r.record.members[:0]
	if data[0] != '{' {
		return -1
	}
	if r.note == nil {
		r.note = func(key, value []byte) { r.record.members = append(r.record.members, member{key, value}) }
	}
	s := scan{stack: r.stack}
	end, _ := s.walk(data, 0, r.note)
	r.stack = s.stack
	return end
}

func (r *Records) give(data []byte, l Line, recovered bool, yield func(*Record) bool) {
	x := &r.record
	x.Data, x.Offset, x.End, x.Size, x.TooLong, x.Recovered = data, l.Offset, l.End, l.Size, l.TooLong, recovered
	x.Type = r.typeOf(x.Get("type"))
	if r.Known != nil && !r.Known[x.Type] {
		r.unknown(x.Type)
		return
	}
	if yield(x) {
		r.Counts.Records++
		return
	}
	if flat := pruned(data); flat != nil && r.index(flat) > 0 {
		if x.Data = flat; yield(x) {
			r.Counts.Records++
			return
		}
	}
	r.Counts.Skipped++
}

// typeOf is the text of a type without a new string for each record.
func (r *Records) typeOf(value []byte) string {
	if len(value) > 2 && value[0] == '"' && len(r.record.Type) == len(value)-2 && string(value[1:len(value)-1]) == r.record.Type {
		return r.record.Type
	}
	return Text(value)
}

func (r *Records) unknown(name string) {
	if r.Counts.Unknown == nil {
		r.Counts.Unknown = map[string]int{}
	}
	if len(name) > 64 || r.Counts.Unknown[name] == 0 && len(r.Counts.Unknown) >= maxUnknown {
		name = "..."
	}
	r.Counts.Unknown[name]++
}

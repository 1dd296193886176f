// Package settings keeps settings.json: JSON with comments that a person may
// edit by hand, checked against a JSON Schema.
//
// Writing changes only the value that is set: comments, order and unknown keys
// stay. It is atomic, goes through links and keeps mode and owner. A file that
// cannot be read is never overwritten before it was kept aside; until it is
// repaired the defaults apply (after a start) or what was in force (while
// running). A value that breaks a rule is reported with its path and its default
// applies; everything else in the file counts.
package settings

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
)

// FileName of the settings in the configuration folder.
const FileName = "settings.json"

// limitFile bounds what is read, in bytes.
const limitFile = 4 << 20

// Watch is a watched folder (agentkit.Watch).
type Watch interface {
	Wake() <-chan struct{}
	Take() (paths []string, rescan bool)
	Close()
}

// Options of Open.
type Options struct {
	// Path of settings.json; it need not exist.
	Path string
	// Watch watches a folder; nil: changes are noticed by Changed only.
	Watch func(dir string) Watch
	// Builtin are the ids of the agents that come with the program; only these can
	// be extended. nil: not known, everything can.
	Builtin []string
	// OnChange is called after the effective settings or their problems changed,
	// one call at a time. It may call Get and Values.
	OnChange func(model.Settings, Values)

	step func(string) // of writes, for tests
}

// File is the open settings file. All methods may be called from any goroutine.
type File struct {
	o    Options
	mu   sync.Mutex // held while reading or writing the file
	tell sync.Mutex // held around OnChange

	state   sync.RWMutex
	now     model.Settings
	values  Values
	read    bool   // something was read before
	raw     []byte // content that now stands for
	rawGood []byte // last content that could be parsed

	quit chan struct{}
	done sync.WaitGroup
	once sync.Once
}

// Open reads the file and begins to watch it. It never fails: what is wrong is in
// Get().Problems.
func Open(o Options) *File {
	if o.step == nil {
		o.step = func(string) {}
	}
	f := &File{o: o, quit: make(chan struct{})}
	sweep(o.Path)
	sweep(o.Path + ".bak")
	f.mu.Lock()
	f.reload(true)
	f.mu.Unlock()
	if o.Watch != nil {
		f.done.Add(1)
		go func() {
			defer f.done.Done()
			f.watch()
		}()
	}
	return f
}

// Close ends the watch and waits for it.
func (f *File) Close() {
	f.once.Do(func() { close(f.quit) })
	f.done.Wait()
}

// Get returns the effective settings and what is wrong with the file.
func (f *File) Get() model.Settings {
	f.state.RLock()
	defer f.state.RUnlock()
	s := f.now
	s.Values, s.Problems = slices.Clone(s.Values), slices.Clone(s.Problems)
	return s
}

// Values returns the effective settings, typed. It must not be changed.
func (f *File) Values() Values {
	f.state.RLock()
	defer f.state.RUnlock()
	return f.values
}

// Value returns the effective value at a path; ok is false when there is none.
func (f *File) Value(path string) (value json.RawMessage, ok bool) {
	at, err := splitPath(path)
	if err != nil {
		return nil, false
	}
	value = f.Get().Values
	for _, p := range at {
		var obj map[string]json.RawMessage
		if json.Unmarshal(value, &obj) != nil || obj[p] == nil {
			return nil, false
		}
		value = obj[p]
	}
	return value, true
}

// Changed says that the file may have changed; it reads it at once.
func (f *File) Changed() {
	f.mu.Lock()
	changed := f.reload(false)
	f.mu.Unlock()
	if changed {
		f.announce()
	}
}

// Set changes one value in the file by its path ("harnesses.codex.enabled", or a
// JSON pointer for names with dots); null removes it. Errors: InvalidError, and
// those of writing. A file that cannot be read is kept aside first and a new
// one begun from the last good content.
func (f *File) Set(path string, value json.RawMessage) (model.Settings, error) {
	at, err := splitPath(path)
	if err != nil {
		return f.Get(), err
	}
	if !json.Valid(value) {
		return f.Get(), &InvalidError{Issues: []agent.Issue{{Path: pathText(at), Code: "invalid_type", Message: "is not JSON"}}}
	}
	f.mu.Lock()
	changed, err := f.set(at, value)
	f.mu.Unlock()
	if changed {
		f.announce()
	}
	return f.Get(), err
}

func (f *File) set(at []string, value json.RawMessage) (changed bool, err error) {
	changed = f.reload(false) // what the person wrote meanwhile counts
	text := f.raw
	doc, err := parse(text)
	switch {
	case text == nil:
		doc, err = parse([]byte("{\n}\n"))
	case err != nil:
		if _, kerr := f.keepAside(text); kerr != nil {
			return changed, fmt.Errorf("the broken settings file could not be kept aside, so nothing was written: %w", kerr)
		}
		text = f.rawGood
		if doc, err = parse(text); err != nil {
			doc, err = parse([]byte("{\n}\n"))
		}
	}
	if err != nil {
		return changed, err
	}
	if string(bytes.TrimSpace(value)) == "null" {
		value = nil
	}
	if err := doc.set(at, value); err != nil {
		return changed, &InvalidError{Issues: []agent.Issue{{Path: pathText(at), Code: "invalid_object", Message: err.Error()}}}
	}
	plain, err := doc.plain()
	if err != nil {
		return changed, err
	}
	var bad []agent.Issue
	for _, fault := range f.faults(plain) {
		// Below the place, or about a name on the way to it.
		if n := min(len(at), len(fault.at)); slices.Equal(at[:n], fault.at[:n]) && value != nil {
			bad = append(bad, fault.issue)
		}
	}
	if bad != nil {
		return changed, &InvalidError{Issues: bad}
	}
	next := doc.bytes()
	if bytes.Equal(next, f.raw) {
		return changed, nil
	}
	if f.raw != nil && f.rawGood != nil {
		if err := writeThrough(f.o.Path+".bak", f.rawGood, func(string) {}); err != nil {
			return changed, fmt.Errorf("the settings were not changed: the backup could not be written: %w", err)
		}
	}
	if err := writeThrough(f.o.Path, next, f.o.step); err != nil {
		return changed, fmt.Errorf("the settings were not changed: %w", err)
	}
	return f.reload(false) || changed, nil
}

// reload reads the file; it reports whether anything visible changed. Called
// with mu held.
func (f *File) reload(starting bool) bool {
	raw, err := readFile(f.o.Path)
	if err == nil && f.read && bytes.Equal(raw, f.raw) && (raw == nil) == (f.raw == nil) {
		return false
	}
	next := model.Settings{Path: f.o.Path}
	var plain map[string]any
	if err == nil && raw != nil {
		var doc *document
		if doc, err = parse(raw); err == nil {
			if plain, err = doc.plain(); err == nil {
				next.Problems = doc.duplicates()
				f.rawGood = raw
			}
		}
	}
	f.state.RLock()
	values := f.values
	next.Values = f.now.Values
	next.KeptAside = f.now.KeptAside
	f.state.RUnlock()
	if err != nil {
		text := fmt.Sprintf("%s cannot be read: %v. ", f.o.Path, err)
		if raw != nil {
			if kept, kerr := f.keepAside(raw); kerr == nil {
				next.KeptAside = kept
				text += "A copy is kept at " + kept + ". "
			}
		}
		if starting {
			text += "The defaults are in force until it is repaired."
		} else {
			text += "What was in force stays until it is repaired."
		}
		if _, serr := os.Stat(f.o.Path + ".bak"); serr == nil {
			text += fmt.Sprintf(" The last good one: cp '%s.bak' '%s'", f.o.Path, f.o.Path)
		}
		next.Problems = []agent.Issue{{Path: "$", Code: "invalid_object", Message: text}}
	} else {
		next.KeptAside = ""
	}
	if err == nil || starting {
		var problems []agent.Issue
		next.Values, values, problems = f.effective(plain)
		next.Problems = append(next.Problems, problems...)
	}
	f.state.Lock()
	defer f.state.Unlock()
	changed := !f.read || !bytes.Equal(f.now.Values, next.Values) || !slices.Equal(f.now.Problems, next.Problems)
	f.now, f.values, f.raw, f.read = next, values, raw, true
	return changed
}

// faults are all broken rules of a document: the schema's, and where it keeps
// them, those of ours.
func (f *File) faults(plain map[string]any) []fault {
	list := loadSchema().check(plain)
	if f.o.Builtin == nil || len(plain) == 0 {
		return list
	}
	var v Values
	if raw, err := json.Marshal(plain); err != nil || json.Unmarshal(raw, &v) != nil {
		return list // a wrong type is among them; ours come when it is gone
	}
	return append(list, v.faults(f.o.Builtin)...)
}

// effective lays the valid part of a document over the defaults.
func (f *File) effective(plain map[string]any) (json.RawMessage, Values, []agent.Issue) {
	s := loadSchema()
	var problems []agent.Issue
	if len(plain) > 0 {
		problems = s.unknown(plain)
	}
	// A removed value may uncover nothing new, but it may take several rounds
	// where rules nest; each round removes at least one.
	for range 64 {
		faults := f.faults(plain)
		if len(faults) == 0 {
			break
		}
		for _, fault := range faults {
			problems = append(problems, fault.issue)
			remove(plain, fault.at)
		}
	}
	merged := merge(s.defaults(), plain)
	raw, err := json.Marshal(merged)
	var v Values
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil { // the schema and the types disagree; a test holds them together
		problems = append(problems, agent.Issue{Path: "$", Code: "invalid_object", Message: err.Error()})
	}
	return raw, v, problems
}

func remove(doc any, at []string) {
	obj, ok := doc.(map[string]any)
	if !ok || len(at) == 0 {
		return
	}
	if sub, ok := obj[at[0]].(map[string]any); ok && len(at) > 1 {
		remove(sub, at[1:])
		return
	}
	delete(obj, at[0]) // an array goes as a whole
}

func merge(under, over map[string]any) map[string]any {
	for k, v := range over {
		a, aok := under[k].(map[string]any)
		b, bok := v.(map[string]any)
		if aok && bok {
			under[k] = merge(a, b)
		} else {
			under[k] = v
		}
	}
	return under
}

// keepAside copies a broken content beside the file, once per content.
func (f *File) keepAside(content []byte) (string, error) {
	sum := sha256.Sum256(content)
	path := f.o.Path + ".broken-" + hex.EncodeToString(sum[:4])
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
		return path, nil
	}
	return path, writeThrough(path, content, func(string) {})
}

// readFile returns nil when there is no file.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if info.Size() > limitFile {
		return nil, fmt.Errorf("it has more than %d bytes", limitFile)
	}
	b, err := os.ReadFile(path)
	if b == nil && err == nil {
		b = []byte{}
	}
	return b, err
}

// announce tells the newest state; calls never overlap.
func (f *File) announce() {
	if f.o.OnChange == nil {
		return
	}
	f.tell.Lock()
	defer f.tell.Unlock()
	f.o.OnChange(f.Get(), f.Values())
}

// watch follows the folder of the file and, where it is a link, of its target.
func (f *File) watch() {
	own := f.o.Watch(filepath.Dir(f.o.Path))
	defer own.Close()
	var other Watch
	var otherDir string
	follow := func() {
		dir := ""
		if file, err := target(f.o.Path); err == nil && filepath.Dir(file) != filepath.Dir(f.o.Path) {
			dir = filepath.Dir(file)
		}
		if dir == otherDir {
			return
		}
		if other != nil {
			other.Close()
			other = nil
		}
		if otherDir = dir; dir != "" {
			other = f.o.Watch(dir)
		}
	}
	defer func() {
		if other != nil {
			other.Close()
		}
	}()
	for {
		follow()
		var wake <-chan struct{}
		if other != nil {
			wake = other.Wake()
		}
		select {
		case <-own.Wake():
			own.Take()
		case <-wake:
			other.Take()
		case <-f.quit:
			return
		}
		f.Changed()
	}
}

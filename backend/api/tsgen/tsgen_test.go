package tsgen

import (
	"bytes"
	"os"
	"testing"
)

// The generated file is committed; a Go type changed without `make generate`
// fails here.
func TestGeneratedTypesAreCurrent(t *testing.T) {
	got, err := os.ReadFile("../../../frontend/src/lib/api/types.gen.ts")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, Generate()) {
		t.Fatal("frontend/src/lib/api/types.gen.ts is not what the Go types say: run `make generate`")
	}
}

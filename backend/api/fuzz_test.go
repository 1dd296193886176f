package api_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/whippletree-app/whippletree/backend/api"
)

// Whatever is decoded strictly is what encoding/json reads, too; and a request
// is never read in two ways.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"chatId":"a","text":"b","clientId":"c"}`, `{"chatId":"a","chatId":"b"}`, `{"chatid":"a"}`, `{"chatId":1}`, `[]`, `{`, ``,
		`{"chatId":"a"} {}`, `{"attachments":[{"kind":"file","kind":"x"}]}`, `{"attachments":[{"Kind":"file"}]}`, `{"":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var strict, loose api.SendPrompt
		if api.Decode(data, &strict) != nil {
			return
		}
		if err := json.Unmarshal(data, &loose); err != nil {
			t.Fatalf("%q was read strictly but not loosely: %v", data, err)
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&loose); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		a, _ := json.Marshal(strict)
		b, _ := json.Marshal(loose)
		if !bytes.Equal(a, b) {
			t.Fatalf("%s and %s", a, b)
		}
	})
}

func TestDecode(t *testing.T) {
	type inner struct {
		A int            `json:"a"`
		M map[string]int `json:"m"`
	}
	type outer struct {
		inner
		L   []inner         `json:"l"`
		P   *inner          `json:"p"`
		Raw json.RawMessage `json:"raw"`
		No  string          `json:"-"`
	}
	for text, ok := range map[string]bool{
		`{"a":1,"l":[{"a":2}],"p":{"a":3},"raw":{"x":{"y":1}}}`: true,
		`{"A":1}`:                       false,
		`{"l":[{"A":2}]}`:               false,
		`{"p":{"b":3}}`:                 false,
		`{"m":{"x":1,"x":2}}`:           false,
		`{"m":{"x":1,"X":2}}`:           true,
		`{"raw":{"x":1,"x":2}}`:         false,
		`{"No":"x"}`:                    false,
		`{"-":"x"}`:                     false,
		`{"inner":{}}`:                  false,
		`{"a":1}1`:                      false,
		`null`:                          true,
		`{"a":"text"}`:                  false,
		`{"a":1,"\u0061":2}`:            false,
		`{"l":[{"a":1},{"a":1,"a":2}]}`: false,
	} {
		var v outer
		if err := api.Decode([]byte(text), &v); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParseFrame(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 7, 'x'})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, stream, payload, ok := api.ParseFrame(data)
		if ok != (len(data) >= api.FrameHeader) {
			t.Fatal(ok)
		}
		if ok && !bytes.Equal(api.AppendFrame(nil, kind, stream, payload), data) {
			t.Fatal("does not come back")
		}
	})
}

// Command shim stands between a provider and its agent and disturbs what they
// say to each other: it cuts the agent's output at chosen bytes, adds lines that
// are no messages, floods the error output, changes the order of lines, repeats
// or adds some, or stops to read its input. The suites of agenttest build it and
// set it as the binary of an agent; it starts the real one with the same
// arguments.
package main

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// planVariable holds the plan as JSON; it does not reach the agent.
const planVariable = "AGENTTEST_SHIM"

// plan says what is disturbed; the zero value disturbs nothing.
type plan struct {
	// Program is the agent.
	Program string `json:"program"`
	// Cuts are the sizes in bytes of the pieces in which output is written, one
	// after the other, again and again. Empty: as it comes.
	Cuts []int `json:"cuts"`
	// Noise puts lines before the first message and between all others.
	Noise bool `json:"noise"`
	// Pretty prints the first message over several lines.
	Pretty bool `json:"pretty"`
	// Giant is the size of a line that is put after the first message, and of
	// one that looks like the beginning of an object.
	Giant int `json:"giant"`
	// Flood is how many bytes go to the error output before the first message,
	// and again before each input but the first.
	Flood int `json:"flood"`
	// HoldOutput starts a child that keeps the output open.
	HoldOutput bool `json:"holdOutput"`
	// Moves keep lines back, Repeats say lines again, Inserts add lines.
	Moves   []move   `json:"moves"`
	Repeats []move   `json:"repeats"`
	Inserts []insert `json:"inserts"`
	// Deaf is an input line after which no more input is read.
	Deaf string `json:"deaf"`

	deaf *regexp.Regexp
}

// move is about the first line that matches Line: it comes (again) after the
// next one that matches After.
type move struct {
	Line  string `json:"line"`
	After string `json:"after"`

	line, after *regexp.Regexp
	held        []byte
	done        bool
}

// insert adds Text once after the first line that matches After, DelayMs later;
// $1 and so on stand for what it matched.
type insert struct {
	After   string `json:"after"`
	Text    string `json:"text"`
	DelayMs int    `json:"delayMs"`

	after *regexp.Regexp
	done  bool
}

func parsePlan(raw string) (*plan, error) {
	var p plan
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		return nil, err
	}
	if p.Program == "" {
		return nil, fmt.Errorf("the plan names no program")
	}
	compile := func(to **regexp.Regexp, text string) error {
		re, err := regexp.Compile(text)
		*to = re
		return err
	}
	if p.Deaf != "" {
		if err := compile(&p.deaf, p.Deaf); err != nil {
			return nil, err
		}
	}
	for _, list := range [][]move{p.Moves, p.Repeats} {
		for i := range list {
			if err := compile(&list[i].line, list[i].Line); err != nil {
				return nil, err
			}
			if err := compile(&list[i].after, list[i].After); err != nil {
				return nil, err
			}
		}
	}
	for i := range p.Inserts {
		if err := compile(&p.Inserts[i].after, p.Inserts[i].After); err != nil {
			return nil, err
		}
	}
	return &p, nil
}

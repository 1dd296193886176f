package host

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/processes"
)

// doctor looks at everything that can be wrong and says what helps.
func (h *Host) doctor(ctx context.Context) []model.DoctorCheck {
	ok := func(id, title, text string) model.DoctorCheck {
		return model.DoctorCheck{ID: id, Title: title, State: "ok", Text: text}
	}
	checks := []model.DoctorCheck{
		ok("host", "Host", fmt.Sprintf("version %s, process %d, %s", h.o.Version, os.Getpid(), h.o.Home)),
		h.checkSocket(),
	}
	st := h.settings.Get()
	c := ok("settings", "Settings", st.Path)
	if len(st.Problems) > 0 {
		c.State, c.Text = "warning", fmt.Sprintf("%s: %s %s", st.Path, st.Problems[0].Path, st.Problems[0].Message)
		c.Fix = "whippletree settings get"
	}
	checks = append(checks, c)
	c = ok("store", "Database", h.store.Path())
	if h.store.Full() {
		c.State, c.Text, c.Fix = "error", "the disk is full: nothing is accepted", "df -h"
	}
	checks = append(checks, c)
	select {
	case <-h.env.ready:
		checks = append(checks, ok("environment", "Login shell's environment", fmt.Sprintf("%d variables", len(h.env.env))))
	default:
		checks = append(checks, model.DoctorCheck{ID: "environment", Title: "Login shell's environment", State: "info", Text: "is being read"})
	}
	checks = append(checks, h.observed.checks()...)
	h.harnesses.lookAgain(ctx)
	for _, x := range h.harnesses.all() {
		c := ok("agent."+x.Harness, x.DisplayName, "")
		switch a := x.Availability; {
		case a == nil:
			c.State, c.Text = "info", "not looked at"
		case a.Available:
			c.Text = strings.TrimSpace(a.Version + " " + a.Path)
		default:
			c.State, c.Text, c.Fix = "info", strings.ReplaceAll(string(a.Reason), "_", " "), a.Detail
		}
		checks = append(checks, c)
	}
	return checks
}

func (h *Host) checkSocket() model.DoctorCheck {
	c := model.DoctorCheck{ID: "socket", Title: "Socket", State: "ok", Text: h.socket}
	fi, err := os.Lstat(h.socket)
	if err != nil || fi.Mode().Perm() != 0o600 {
		c.State, c.Text, c.Fix = "error", "the socket is gone or open to others: "+h.socket, "whippletree host stop"
	}
	return c
}

// checks tells how sessions are observed.
func (o *observed) checks() []model.DoctorCheck {
	c := model.DoctorCheck{ID: "starts", Title: "Starting agents are seen", State: "ok", Text: "by the kernel's process events"}
	o.mu.Lock()
	w := o.starts
	o.mu.Unlock()
	switch {
	case w == nil:
		c.State, c.Text = "info", "not yet"
	case w.Path() != processes.PathConnector:
		c.State, c.Text = "info", "at their first file or output, since the kernel gives no process events here"
	}
	return []model.DoctorCheck{c}
}

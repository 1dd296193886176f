package host

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/catalog"
)

// refreshed forgets what is known of agents ("" is all), asks them anew and
// answers when done.
func (r *harnesses) refreshed(ctx context.Context, id string) error {
	list := r.enabled(id)
	if err := r.host.offers.Refresh(ctx, list); err != nil {
		return err
	}
	for _, x := range list {
		own := x.Identity.Harness
		if e, ok := r.host.offers.Known(own, ""); ok && e.Availability == nil && e.Err != nil {
			r.learned(own, r.unknown(own, e.Err))
		}
	}
	return nil
}

// offer answers what an agent offers; unchanged content carries no body.
func (r *harnesses) offer(ctx context.Context, req api.CatalogRequest) (api.CatalogResult, error) {
	x, enabled, ok := r.Harness(req.Harness)
	name := x.Identity.DisplayName
	switch {
	case !ok:
		return api.CatalogResult{}, notFound("There is no agent %q.", req.Harness)
	case !enabled:
		return api.CatalogResult{}, unavailable(name+" is switched off.", "whippletree settings set harnesses."+req.Harness+".enabled true")
	case req.Cwd != "" && !filepath.IsAbs(req.Cwd):
		return api.CatalogResult{}, &api.Error{
			Code: api.CodeInvalid, Message: "The folder is not an absolute path.",
			Issues: []agent.Issue{{Path: "$.cwd", Code: "invalid_path", Message: "is not absolute"}},
		}
	}
	e, err := r.host.offers.Get(ctx, x, req.Cwd)
	if err != nil {
		return api.CatalogResult{}, err
	}
	switch e.State {
	case catalog.Ready:
		if req.Hash != "" && req.Hash == e.Catalog.Hash {
			return api.CatalogResult{Unchanged: true}, nil
		}
		return api.CatalogResult{Catalog: &e.Catalog}, nil
	case catalog.Unsupported:
		return api.CatalogResult{}, &api.Error{Code: api.CodeUnsupported, Message: name + " does not tell what it offers before a chat is open."}
	case catalog.Unavailable:
		return api.CatalogResult{}, unavailable(name+" cannot run: "+words(e.Availability.Reason)+".", e.Availability.Detail)
	}
	text := name + " did not tell what it offers: "
	if late := (*catalog.TimeoutError)(nil); errors.As(e.Err, &late) {
		text = ""
	}
	return api.CatalogResult{}, unavailable(text+e.Err.Error()+". What is known is kept until you refresh it in Settings.", "whippletree providers --refresh")
}

func unavailable(text, fix string) *api.Error {
	return &api.Error{Code: api.CodeUnavailable, Message: text, Fix: fix}
}

func words(r agent.Reason) string {
	switch r {
	case agent.ReasonNotInstalled:
		return "it is not installed"
	case agent.ReasonNotSignedIn:
		return "it is not signed in"
	case agent.ReasonTooOld:
		return "its version is too old"
	case agent.ReasonUnsupportedPlatform:
		return "it does not run on this system"
	}
	return string(r)
}

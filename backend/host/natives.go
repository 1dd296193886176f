package host

import "github.com/whippletree-app/whippletree/backend/handoff"

func (h *Host) natives() handoff.Natives { return nil }

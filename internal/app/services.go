package app

import (
	"carrel/internal/httpapi"
	"carrel/internal/task"
)

// services returns the services behind the REST API.
func (in *App) services() httpapi.Services {
	s := httpapi.Services{
		Agents: in.Agents, Sources: in.Sources, Importer: in.Imports,
		Memories: in.memories, Saved: in.saved, Bin: in.bin, Favourites: in.favourites, Zotero: in.zotero,
		Threads:     in.threads,
		Transcripts: in.transcripts, Links: in.links, Texts: in.texts,
		Webhooks:    in.webhooks,
		Credentials: in.Credentials, Sessions: in.sessions,
		Accounts: in.Accounts, Auth: in.SignIn, Passkeys: in.passkeys, Billing: in.Billing,
		Exports: in.exports, Deletions: in.Deletions,
		Tasks: task.NewAdmin(in.Store, in.Tasks), Audit: in.Audit, Attempts: in.OAuth,
		Examples:    in.research,
		System:      system{in, in.Clock.Now()},
		Models:      models{in},
		Idempotency: in.Store, Leases: in.Store, Sealer: in.replies, Clock: in.Clock,
	}
	if in.payments != nil { // a nil *stripe.Service would make a non-nil interface
		s.Payments = in.payments
	}
	return s
}

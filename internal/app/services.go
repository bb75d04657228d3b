package app

import (
	"carrel/internal/httpapi"
	"carrel/internal/task"
)

// services is what the API speaks for.
func (in *installation) services() httpapi.Services {
	s := httpapi.Services{
		Agents: in.agents, Sources: in.sources, Intake: in.intake, Memories: in.memories, Favourites: in.favourites, Threads: in.threads, Webhooks: in.webhooks,
		Credentials: in.credentials, Sessions: in.sessions, Accounts: in.accounts, Auth: in.signIn, Passkeys: in.passkeys, Billing: in.billing,
		Exports: in.exports, Deletions: in.deletions, Tasks: task.NewAdmin(in.store, in.tasks), Audit: in.audit, Attempts: in.oauth, Machinery: system{in, in.clock.Now()},
		Idempotency: in.store, Sealer: in.replies, Clock: in.clock,
	}
	if in.payments != nil { // a nil *stripe.Service would make a non-nil interface
		s.Payments = in.payments
	}
	return s
}

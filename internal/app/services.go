package app

import (
	"carrel/internal/httpapi"
	"carrel/internal/task"
)

// services returns the services behind the API.
func (in *installation) services() httpapi.Services {
	s := httpapi.Services{
		Agents: in.agents, Sources: in.sources, Importer: in.intake, Memories: in.memories, Favourites: in.favourites, Threads: in.threads, Webhooks: in.webhooks,
		Credentials: in.credentials, Sessions: in.sessions, Accounts: in.accounts, Factors: in.factors, Proofs: in.proofs, Limits: in.limits, Passkeys: in.passkeys, Profiles: in.profiles, Plans: in.plans, Spending: in.spending, Usages: in.usages,
		Directory: in.directory, Exports: in.exports, Deletions: in.deletions, Tasks: task.NewAdmin(in.store, in.tasks), Audit: in.audit, Attempts: in.oauth, System: system{in, in.clock.Now()},
		Idempotency: in.store, Sealer: in.replies, Clock: in.clock,
	}
	if in.billing != nil { // a nil *billing.Service would make a non-nil interface
		s.Billing = in.billing
	}
	return s
}

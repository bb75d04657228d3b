package audit

// What happens to plans, what accounts have of them, and who may use agents.
const (
	PlanChanged         Event = "plan_changed"
	PlanDeleted         Event = "plan_deleted"
	PlanAssigned        Event = "plan_assigned"
	SubscriptionChanged Event = "subscription_changed"
	CapChanged          Event = "spend_cap_changed"
	RoleChanged         Event = "role_changed"
	UserEnabled         Event = "user_enabled"
	AgentShared         Event = "agent_shared"
	AgentUnshared       Event = "agent_unshared"
	AccountExported     Event = "account_exported"
	AccountDeleted      Event = "account_deleted"
)

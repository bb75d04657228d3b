package audit

// Event names an entry. The values are stable: operators search for them.
type Event string

// Sign-in, sessions and account settings.
const (
	SignedIn          Event = "sign_in"
	SignInFailed      Event = "sign_in_failed"
	SignedOut         Event = "sign_out"
	SetUp             Event = "set_up"
	SetUpFailed       Event = "set_up_failed"
	UserCreated       Event = "user_created"
	InvitationCreated Event = "invitation_created"
	InvitationRevoked Event = "invitation_revoked"
	JoinFailed        Event = "join_failed"
	UserDisabled      Event = "user_disabled"
	UserEnabled       Event = "user_enabled"
	RoleChanged       Event = "role_changed"
	NameChanged       Event = "name_changed"
	EmailChanged      Event = "email_changed"
	EmailRequested    Event = "email_requested"
	SessionEnded      Event = "session_ended"
	AccountExported   Event = "account_exported"
	AccountDeleted    Event = "account_deleted"
	LogPruned         Event = "audit_pruned"
)

// Passwords, second factors and other proofs of identity.
const (
	PasswordChanged   Event = "password_changed"
	SteppedUp         Event = "step_up"
	StepUpFailed      Event = "step_up_failed"
	ResetIssued       Event = "password_reset_issued"
	PasswordReset     Event = "password_reset"
	ResetFailed       Event = "password_reset_failed"
	TOTPAdded         Event = "totp_added"
	TOTPRemoved       Event = "totp_removed"
	RecoveryCodesMade Event = "recovery_codes_made"
	RecoveryCodeUsed  Event = "recovery_code_used"
	PasskeyAdded      Event = "passkey_added"
	PasskeyRemoved    Event = "passkey_removed"
	UpstreamLinked    Event = "upstream_linked"
)

// API keys, connect codes and connections.
const (
	KeyCreated      Event = "key_created"
	KeyRevoked      Event = "key_revoked"
	CodeCreated     Event = "code_created"
	CodeExchanged   Event = "code_exchanged"
	CodeCancelled   Event = "code_cancelled"
	ConnectionNamed Event = "connection_named"
)

// The authorization server.
const (
	ClientRegistered Event = "client_registered"
	GrantGiven       Event = "grant_given"
	GrantRevoked     Event = "grant_revoked"
	TokenReused      Event = "token_reused"
	SigningKeyMade   Event = "signing_key_made"
)

// Plans, spend caps, shared agents and links to threads.
const (
	PlanChanged         Event = "plan_changed"
	PlanDeleted         Event = "plan_deleted"
	PlanAssigned        Event = "plan_assigned"
	SubscriptionChanged Event = "subscription_changed"
	CapChanged          Event = "spend_cap_changed"
	AgentShared         Event = "agent_shared"
	AgentUnshared       Event = "agent_unshared"
	LinkCreated         Event = "link_created"
	LinkDeleted         Event = "link_deleted"
)

// Backups of the installation.
const (
	BackupCreated Event = "backup_created"
	BackupFailed  Event = "backup_failed"
)

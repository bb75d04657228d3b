package audit

// What happens to the ways in which people prove who they are.
const (
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

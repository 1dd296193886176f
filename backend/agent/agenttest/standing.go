package agenttest

// Standing rules are looked at with every call of a provider, in every part of
// the suite; each is reported once, by its name, with all that broke it.
const (
	RuleSerialised = "CallsComeOneByOne"
	RuleReady      = "ReadyComesFirst"
	RuleAfterExit  = "NothingAfterExit"
	RuleItems      = "ItemsAreValid"
	RuleOneEnd     = "OneEndPerTurn"
	RuleClosed     = "OpenItemsAreClosedFirst"
	RuleAfterEnd   = "NothingAfterTheEnd"
	RuleRows       = "RowsKeepTheirIdentity"
	RuleAppends    = "AppendsMakeTheWhole"
	RuleApprovals  = "ApprovalsAreComplete"
	RuleAcks       = "OnlyAnswersAreAcknowledged"
	RuleEvents     = "EventsAreValid"
	RuleProcesses  = "CloseEndsTheGroup"
)

// standing says what each demands, in the order of the report.
var standing = []struct{ name, says string }{
	{RuleSerialised, "A call to the host begins when the one before has returned; only Approval blocks."},
	{RuleReady, "Ready comes once, before the first item."},
	{RuleAfterExit, "Nothing is accepted after Exit."},
	{RuleItems, "Every item keeps the shapes, enums and limits of the contract."},
	{RuleOneEnd, "A turn has exactly one end, with a reason and a text when it failed; a provider opens and ends turns of the agent's own only."},
	{RuleClosed, "Items that are open are closed before the end of their turn; only a sub-agent in the background goes on."},
	{RuleAfterEnd, "Nothing of a turn follows its end, and no item comes outside a turn."},
	{RuleRows, "A row keeps its type, parent and what a person wrote; what is closed stays closed."},
	{RuleAppends, "Appended text is valid, goes to an open row, and is how the whole text begins."},
	{RuleApprovals, "A request has an id, a title and options with id, label and reach, comes inside a turn and names a row that exists."},
	{RuleAcks, "Only an answer is acknowledged, once, where the agent said that it would be."},
	{RuleEvents, "Usage, titles, handles, catalogues, deliveries and abilities are of the closed sets and inside their limits."},
	{RuleProcesses, "After Close no process of the agent's group is left, and closing again does nothing."},
}

// Violation is one broken standing rule.
type Violation struct {
	Rule string
	Text string
}

func (v Violation) String() string { return v.Text }

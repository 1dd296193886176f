// Generated from the Go types by `make generate`; do not edit.

export const PROTOCOL = 1;

export type Ability = 'images' | 'documents' | 'reasoning' | 'approvals' | 'subagents' | 'interrupt' | 'inputDuringTurn' | 'steer' | 'queue' | 'models' | 'modes' | 'thinking' | 'features' | 'usage' | 'rewind' | 'fork' | 'commands' | 'terminal';

export interface Account {
  email?: string;
  organization?: string;
  plan?: string;
  source?: string;
}

export interface AddAttachment {
  chatId: string;
  name: string;
  mime?: string;
  bytes?: string;
  path?: string;
}

export interface AgentInfo {
  name: string;
  version: string;
}

export interface AnswerApproval {
  chatId?: string;
  approvalId: string;
  revision?: number;
  answer: ApprovalAnswer;
  remember?: boolean;
}

export interface AnswerResult {
  won: boolean;
  card: ApprovalCard;
}

export interface Appended {
  id: string;
  at: number;
  text: string;
}

export interface ApprovalAnswer {
  optionId?: string;
  comment?: string;
  answers?: Record<string, QuestionAnswer>;
  canceled?: boolean;
}

export interface ApprovalCard {
  id: string;
  itemId?: string;
  kind: ApprovalKind;
  title: string;
  description?: string;
  options: Option[] | null;
  questions?: Question[];
  plan?: PlanText;
  modeChange?: ModeChange;
  preview?: Preview;
  acknowledges?: boolean;
  chatId: string;
  turn: number;
  at: number;
  revision: number;
  state: CardState;
  answer?: RecordedAnswer;
  refused?: RefusedAttempt[];
  earlier?: RecordedAnswer[];
  elsewhere?: Place;
  remember?: RuleOffer;
}

export type ApprovalKind = 'tool' | 'plan' | 'question' | 'mode';

export interface ApprovalRule {
  id: string;
  project: string;
  harness: string;
  tool: string;
  pattern: string;
  at: number;
}

export interface Approvals {
  approvals: ApprovalCard[] | null;
}

export interface AttachTerminal {
  id: string;
  cols: number;
  rows: number;
  focus?: boolean;
}

export interface Attached {
  stream: number;
  terminal: Terminal;
}

export interface Attachment {
  id?: string;
  kind: string;
  name: string;
  mime?: string;
  bytes?: string;
  path?: string;
  size?: number;
}

export interface AttachmentContent {
  bytes: string | null;
  next?: number;
  size: number;
}

export interface AttachmentResult {
  attachment: Attachment;
}

export interface Attention {
  muted: Record<string, number> | null;
}

export interface AttentionSet {
  target: string;
  until?: number;
}

export interface Audit {
  entries: ApprovalCard[] | null;
  next?: string;
}

export interface AuditRequest {
  cursor?: string;
  limit?: number;
}

export interface AutoMode {
  on: boolean;
  answers: number;
  since: number;
}

export interface Availability {
  available: boolean;
  reason?: Reason;
  detail?: string;
  version?: string;
  path?: string;
  signedInAs?: string;
  neededVersion?: string;
  storedSessions?: number;
}

export interface Branch {
  leafId: string;
  items: number;
  text?: string;
}

export type CardState = 'open' | 'sent' | 'confirmed' | 'unconfirmed' | 'withdrawn' | 'answeredElsewhere' | 'refused';

export interface CardsRequest {
  chatId: string;
  before?: number;
  limit?: number;
}

export interface CardsResult {
  cards: ApprovalCard[] | null;
  more?: boolean;
}

export interface Catalog {
  models: Model[] | null;
  modes: Mode[] | null;
  features: Feature[] | null;
  commands: CommandInfo[] | null;
  hash?: string;
  fetchedAt?: number;
  errors?: string[];
}

export interface CatalogRequest {
  harness: string;
  cwd?: string;
  hash?: string;
}

export interface CatalogResult {
  unchanged?: boolean;
  catalog?: Catalog;
}

export interface ChangePiece {
  itemId: string;
  turn: number;
  at: number;
  title?: string;
  diff?: string;
  cut?: number;
  field?: string;
  why?: string;
}

export interface ChangedFile {
  path: string;
  rel?: string;
  created?: boolean;
  added: number;
  removed: number;
  unknown?: boolean;
  pieces: number;
  turns: number[] | null;
}

export interface Changes {
  cwd: string;
  files: ChangedFile[] | null;
  added: number;
  removed: number;
  total: number;
  limited?: boolean;
}

export interface ChangesRequest {
  chatId: string;
  turn?: number;
}

export interface Chat {
  id: string;
  title: string;
  harness: string;
  provider: string;
  kind: Kind;
  cwd: string;
  project: Project;
  handle?: Handle;
  aliases?: string[];
  turn: TurnState;
  state: SessionState;
  turnSince?: number;
  hand: Hand;
  model?: string;
  mode?: string;
  thinking?: string;
  waiting: number;
  queued: number;
  unread?: boolean;
  lastEnd?: TurnEnd;
  createdAt: number;
  updatedAt: number;
  archived?: boolean;
  agent: AgentInfo;
  abilities: Ability[] | null;
  catalog?: Catalog;
  usage?: Usage;
  items: Row[] | null;
  first: number;
  total: number;
  queue: QueueEntry[] | null;
  approvals: ApprovalCard[] | null;
  autoMode?: AutoMode;
  trust?: string;
  silentSince?: number;
  stopping?: Stopping;
}

export interface ChatRef {
  chatId: string;
}

export interface ChatResult {
  chat: ChatSummary;
}

export interface ChatSetting {
  chatId: string;
  name: string;
  value: unknown | null;
}

export interface ChatSummary {
  id: string;
  title: string;
  harness: string;
  provider: string;
  kind: Kind;
  cwd: string;
  project: Project;
  handle?: Handle;
  aliases?: string[];
  turn: TurnState;
  state: SessionState;
  turnSince?: number;
  hand: Hand;
  model?: string;
  mode?: string;
  thinking?: string;
  waiting: number;
  queued: number;
  unread?: boolean;
  lastEnd?: TurnEnd;
  createdAt: number;
  updatedAt: number;
  archived?: boolean;
}

export interface ChatUsage {
  total: Usage;
  turns: TurnUsage[] | null;
  count: number;
  context?: ContextUse;
  windows?: PlanWindow[];
  estimate?: boolean;
}

export interface Chats {
  chats: ChatSummary[] | null;
  next?: string;
  total?: number;
}

export interface Command {
  argv: string[] | null;
  env?: Record<string, string>;
  cwd: string;
}

export interface CommandInfo {
  name: string;
  description?: string;
  argumentHint?: string;
  kind: string;
}

export interface ContentRequest {
  chatId: string;
  itemId: string;
  field: string;
  offset?: number;
}

export interface ContentResult {
  text: string;
  next?: number;
  size: number;
}

export interface ContextUse {
  used: number;
  max: number;
}

export interface Counts {
  files: number;
  tools: number;
}

export interface CreateChat {
  clientId: string;
  harness: string;
  kind?: Kind;
  cwd?: string;
  title?: string;
  model?: string;
  mode?: string;
  thinking?: string;
  features?: Record<string, unknown>;
  options?: unknown;
  adopt?: Handle;
  prompt?: string;
}

export interface CreateTerminal {
  cwd?: string;
  argv?: string[];
  env?: Record<string, string>;
  cols?: number;
  rows?: number;
  title?: string;
}

export interface DetachTerminal {
  stream: number;
}

export interface Detail {
  execute?: ExecuteDetail;
  edit?: EditDetail;
  write?: WriteDetail;
  read?: ReadDetail;
  search?: SearchDetail;
  fetch?: FetchDetail;
  task?: TaskDetail;
  mcp?: MCPDetail;
  question?: QuestionDetail;
  unknown?: UnknownDetail;
}

export interface Diagnostic {
  code: string;
  message: string;
  at: number;
}

export interface DiffRequest {
  chatId: string;
  turn?: number;
  path: string;
  cursor?: string;
}

export interface DiffResult {
  pieces: ChangePiece[] | null;
  next?: string;
}

export interface DoctorCheck {
  id: string;
  title: string;
  state: string;
  text: string;
  fix?: string;
}

export interface DoctorResult {
  checks: DoctorCheck[] | null;
}

export interface EditDetail {
  path: string;
  diff?: string;
  old?: string;
  new?: string;
  added: number;
  removed: number;
  startLine?: number;
}

export interface Error {
  code: string;
  message: string;
  fix?: string;
  issues?: Issue[];
}

export interface Event {
  topic: string;
  seq: number;
  type: string;
  data?: unknown;
}

export interface Evidence {
  source: string;
  text: string;
  at: number;
}

export interface ExecuteDetail {
  command: string;
  cwd?: string;
  exitCode?: number;
  durationMs?: number;
  background?: boolean;
}

export interface ExportRequest {
  chatId: string;
  format: string;
  cursor?: string;
}

export interface ExportResult {
  name: string;
  mime: string;
  text: string;
  next?: string;
}

export interface Feature {
  id: string;
  label: string;
  description?: string;
  kind: string;
  choices?: QuestionOption[];
  value?: unknown;
}

export interface FetchDetail {
  url: string;
  status?: number;
  bytes?: number;
}

export interface FileRewind {
  possible: boolean;
  whyNot?: string;
  files?: string[];
  insertions?: number;
  deletions?: number;
  skipped?: number;
}

export interface FilesRequest {
  cwd: string;
  query?: string;
  limit?: number;
  dirs?: boolean;
  fresh?: boolean;
}

export interface FilesResult {
  paths: string[] | null;
  total?: number;
  stale?: boolean;
  limited?: boolean;
}

export interface FocusResult {
  exact: string;
  terminalId?: string;
  chatId?: string;
  why?: string;
}

export interface GitDiff {
  diff: string;
  next?: number;
  size: number;
  why?: string;
}

export interface GitDiffRequest {
  chatId: string;
  path: string;
  from?: string;
  kind?: string;
  offset?: number;
}

export interface GitFile {
  path: string;
  from?: string;
  kind: string;
  staged?: boolean;
  unstaged?: boolean;
  added: number;
  removed: number;
  binary?: boolean;
}

export interface GitRequest {
  chatId: string;
}

export interface GitStatus {
  repo: boolean;
  why?: string;
  fix?: string;
  root?: string;
  branch?: string;
  head?: string;
  ahead?: number;
  behind?: number;
  files: GitFile[] | null;
  total: number;
  limited?: boolean;
}

export interface Goodbye {
  quitHost?: boolean;
  force?: boolean;
}

export interface GoodbyeResult {
  ending: boolean;
  runningTurns: number;
  terminals: number;
}

export interface Hand {
  state: HandState;
  ownership?: Ownership;
  place?: Place;
  since?: number;
  branches?: Branch[];
  note?: string;
  pending?: PendingHand;
  launched?: Launched;
}

export interface HandResult {
  hand: Hand;
}

export type HandState = 'app' | 'releasing' | 'mirror' | 'reattaching' | 'unclear';

export interface Handle {
  harness: string;
  nativeId: string;
  cwd: string;
  env?: Record<string, string>;
  meta?: unknown;
}

export interface HandoffPreview {
  command: Command;
  printed: string;
  lost?: string[];
  places: PlaceChoice[] | null;
  canNow: boolean;
  why?: string;
  running: boolean;
}

export interface HandoffRequest {
  chatId: string;
  place?: string;
  when?: string;
  printOnly?: boolean;
}

export interface HandoffResult {
  hand: Hand;
  terminalId?: string;
  printed?: string;
}

export interface Harness {
  harness: string;
  displayName: string;
  mark: string;
  icon?: string;
  binary?: string;
  version?: string;
  demo?: boolean;
  extension: string;
  provider?: string;
  extends?: string;
  source?: string;
  enabled: boolean;
  kinds: Kind[] | null;
  availability?: Availability;
  canHandOver: boolean;
  sourceState?: string;
  sourceError?: string;
  diagnostics?: Diagnostic[];
}

export interface HarnessList {
  look?: boolean;
}

export interface HarnessRef {
  harness: string;
}

export interface HarnessRefresh {
  harness?: string;
}

export interface HarnessSwitch {
  harness: string;
  enabled: boolean;
}

export interface Harnesses {
  harnesses: Harness[] | null;
}

export interface Hello {
  protocol: number;
  client: string;
  version: string;
  window?: string;
  argv?: string[];
  env?: Record<string, string>;
  lease?: boolean;
}

export interface HelloResult {
  host: HostInfo;
}

export interface HookState {
  event: string;
  matcher?: string;
  source?: string;
  type?: string;
  command?: string;
  disabled?: boolean;
}

export interface HostInfo {
  version: string;
  protocol: number;
  pid: number;
  home: string;
  userHome?: string;
  startedAt: number;
  epoch: string;
  keepRunning: boolean;
  runningTurns: number;
  terminals: number;
  windows: number;
  notifies: boolean;
}

export interface Inspection {
  account?: Account;
  servers?: ServerState[];
  hooks?: HookState[];
  plan?: PlanUse;
  session?: Usage;
  notes?: string[];
}

export interface Issue {
  path: string;
  code: string;
  message: string;
}

export interface Item {
  id: string;
  type: ItemType;
  parentId?: string;
  at: number;
  startedAt?: number;
  endedAt?: number;
  text?: string;
  attachments?: Attachment[];
  clientId?: string;
  nativeId?: string;
  callId?: string;
  name?: string;
  server?: string;
  kind?: ToolKind;
  title?: string;
  state?: ItemState;
  detail?: Detail;
  output?: string;
  outputSize?: number;
  locations?: Location[];
  cancelable?: boolean;
  entries?: PlanEntry[];
  agentType?: string;
  handle?: Handle;
  trigger?: string;
  tokensBefore?: number;
  level?: Level;
  reason?: string;
  takenBack?: boolean;
  truncated?: boolean;
}

export interface ItemRef {
  chatId: string;
  itemId: string;
}

export type ItemState = 'running' | 'completed' | 'failed' | 'canceled' | 'declined';

export type ItemType = 'user' | 'text' | 'reasoning' | 'tool' | 'plan' | 'subagent' | 'compaction' | 'notice' | 'error';

export type Kind = 'confined' | 'workspace';

export interface Launched {
  pid: number;
  start: number;
  boot?: string;
}

export type Level = 'info' | 'warning';

export type Link = 'proved' | 'inferred' | 'ambiguous';

export interface Listing {
  cursor?: string;
  limit?: number;
  find?: string;
}

export interface Location {
  path: string;
  line?: number;
}

export interface MCPDetail {
  server: string;
  tool: string;
  input?: unknown;
}

export interface Mode {
  id: string;
  label: string;
  description?: string;
  tier: Tier;
  default?: boolean;
}

export interface ModeChange {
  from: string;
  to: string;
}

export interface Model {
  id: string;
  label: string;
  description?: string;
  default?: boolean;
  input?: string[];
  context?: number;
  thinking?: Thinking[];
}

export type None = Record<string, never>;

export interface Notice {
  level: Level;
  text: string;
}

export interface OpenFile {
  chatId: string;
  path: string;
  line?: number;
}

export interface OpenFileResult {
  how: string;
  program: string;
  terminalId?: string;
}

export interface Option {
  id: string;
  label: string;
  kind: OptionKind;
  description?: string;
  reach: string;
  savedAt?: string;
  allowsComment?: boolean;
}

export type OptionKind = 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always' | 'other';

export type Outcome = 'completed' | 'canceled' | 'failed' | 'interrupted';

export type Owner = 'app' | 'terminal' | 'nobody' | 'shared' | 'joined' | 'unclear';

export interface Ownership {
  owner: Owner;
  pid?: number;
  terminal?: string;
  since?: number;
  link?: Link;
  evidence: string;
  faces?: number[];
}

export interface PendingHand {
  place?: string;
  label?: string;
  printOnly?: boolean;
  since: number;
}

export interface Place {
  kind: string;
  terminalId?: string;
  app?: string;
  label?: string;
  external?: boolean;
  canFocus: boolean;
  whyNot?: string;
}

export interface PlaceChoice {
  id: string;
  label: string;
  default?: boolean;
}

export interface PlanEntry {
  text: string;
  status: string;
}

export interface PlanText {
  text: string;
}

export interface PlanUse {
  name?: string;
  windows: PlanWindow[] | null;
}

export interface PlanWindow {
  label: string;
  usedPercent: number;
  resetsAt?: number;
}

export interface Position {
  recordId?: string;
  offset?: number;
}

export interface Preview {
  command?: string;
  cwd?: string;
  diff?: string;
  path?: string;
  files?: string[];
  input?: unknown;
}

export interface PreviewRequest {
  handle: Handle;
}

export interface PreviewResult {
  head: Item[] | null;
  tail: Item[] | null;
  left: number;
  chatId?: string;
}

export interface ProgramStatus {
  state: string;
  app?: string;
  kind?: string;
  text?: string;
  at: number;
}

export interface Project {
  root: string;
  name: string;
  worktree?: string;
  branch?: string;
  gone?: boolean;
}

export interface ProjectStart {
  kind: string;
  name: string;
  command?: string;
  source: string;
}

export interface Prompts {
  prompts: string[] | null;
}

export interface PromptsRequest {
  chatId?: string;
  cwd?: string;
  limit?: number;
}

export interface Question {
  id: string;
  header?: string;
  text: string;
  options: QuestionOption[] | null;
  multi?: boolean;
  allowOther?: boolean;
  placeholder?: string;
  skippable?: boolean;
}

export interface QuestionAnswer {
  optionIds?: string[];
  other?: string;
  skipped?: boolean;
}

export interface QuestionDetail {
  questions: Question[] | null;
  answers?: Record<string, string>;
}

export interface QuestionOption {
  id: string;
  label: string;
  description?: string;
}

export interface QueueEdit {
  chatId: string;
  clientId: string;
  text?: string;
  move?: boolean;
  before?: string;
  remove?: boolean;
  retry?: boolean;
}

export interface QueueEntry {
  clientId: string;
  text: string;
  attachments?: Attachment[];
  state: QueueState;
  error?: string;
  at: number;
  steer?: boolean;
  cut?: number;
}

export interface QueueResult {
  queue: QueueEntry[] | null;
}

export type QueueState = 'queued' | 'sending' | 'accepted' | 'failed' | 'unknown';

export interface Raise {
  window?: string;
  open?: string;
}

export interface RaiseResult {
  windows: number;
}

export interface ReadAttachment {
  chatId: string;
  id: string;
  offset?: number;
}

export interface ReadDetail {
  path: string;
  from?: number;
  to?: number;
}

export interface ReadTerminal {
  id: string;
  lines?: number;
}

export type Reason = 'not_installed' | 'not_signed_in' | 'unsupported_platform' | 'too_old' | 'switched_off';

export interface RecordedAnswer {
  optionId?: string;
  comment?: string;
  answers?: Record<string, QuestionAnswer>;
  canceled?: boolean;
  label?: string;
  by: string;
  where?: string;
  at: number;
  rule?: string;
}

export interface RefusedAttempt {
  who: string;
  where: string;
  at: number;
}

export interface Removal {
  chat: ChatSummary;
  rows: number;
  queued?: number;
  waiting?: number;
  attachments?: number;
  running?: boolean;
  agentSession?: string;
  agentFile?: string;
  inTerminal?: boolean;
  backups?: string;
}

export interface Removed {
  ids: string[] | null;
}

export interface RemovedChat {
  chatId: string;
  title: string;
  harness: string;
  cwd: string;
  nativeId?: string;
  rows: number;
  at: number;
  why: string;
}

export interface RemovedChats {
  removed: RemovedChat[] | null;
}

export interface RemovedRows {
  from: number;
}

export interface ResizeTerminal {
  id: string;
  cols: number;
  rows: number;
}

export interface RewindPreview {
  conversation: boolean;
  whyNot?: string;
  rows: number;
  files?: FileRewind;
}

export interface RewindRequest {
  chatId: string;
  itemId: string;
  what?: string;
}

export interface Row {
  id: string;
  type: ItemType;
  parentId?: string;
  at: number;
  startedAt?: number;
  endedAt?: number;
  text?: string;
  attachments?: Attachment[];
  clientId?: string;
  nativeId?: string;
  callId?: string;
  name?: string;
  server?: string;
  kind?: ToolKind;
  title?: string;
  state?: ItemState;
  detail?: Detail;
  output?: string;
  outputSize?: number;
  locations?: Location[];
  cancelable?: boolean;
  entries?: PlanEntry[];
  agentType?: string;
  handle?: Handle;
  trigger?: string;
  tokensBefore?: number;
  level?: Level;
  reason?: string;
  takenBack?: boolean;
  truncated?: boolean;
  seq: number;
  turn: number;
  provisional?: boolean;
  via?: string;
  cut?: Record<string, number>;
}

export interface RowsRequest {
  chatId: string;
  before?: number;
  after?: number;
  limit?: number;
}

export interface RowsResult {
  rows: Row[] | null;
  total: number;
}

export interface RuleOffer {
  project: string;
  tool: string;
  pattern: string;
  optionId: string;
}

export interface RuleRef {
  id: string;
}

export interface Rules {
  rules: ApprovalRule[] | null;
}

export interface SchemaResult {
  schema: unknown | null;
}

export interface SearchDetail {
  query: string;
  scope?: string;
  matches?: number;
  files?: number;
}

export interface SearchHit {
  chatId?: string;
  key?: SessionKey;
  title: string;
  harness: string;
  cwd: string;
  itemId: string;
  seq?: number;
  turn?: number;
  type: ItemType;
  kind?: ToolKind;
  at?: number;
  archived?: boolean;
  text: string;
  marks: number[][] | null;
}

export interface SearchRequest {
  text: string;
  in?: string;
  chatId?: string;
  harness?: string;
  cwd?: string;
  cursor?: string;
  limit?: number;
}

export interface SearchResult {
  hits: SearchHit[] | null;
  next?: string;
  titles?: ChatSummary[];
  waiting?: number;
  reading?: boolean;
  off?: boolean;
}

export interface SendPrompt {
  chatId: string;
  clientId: string;
  text: string;
  attachments?: Attachment[];
  how?: string;
}

export interface SendResult {
  state: QueueState;
  turn?: number;
  note?: string;
}

export interface ServerState {
  name: string;
  status: string;
  scope?: string;
  error?: string;
  tools?: string[];
}

export interface Session {
  key: SessionKey;
  title: string;
  model?: string;
  mode?: string;
  state: SessionState;
  stateSince: number;
  stale?: boolean;
  waitingKind?: WaitingKind;
  waitingFor?: string;
  tool?: string;
  error?: string;
  lastTurn?: string;
  evidence: Evidence;
  cwd: string;
  project: Project;
  pid?: number;
  link?: Link;
  candidates?: number[];
  place: Place;
  subagents?: SubagentInfo[];
  context?: ContextUse;
  counts?: Counts;
  startedAt?: number;
  endedAt?: number;
  unread?: boolean;
  needsYou?: boolean;
  chatId?: string;
  aliases?: string[];
  env?: Record<string, string>;
}

export interface SessionKey {
  harness: string;
  id: string;
}

export interface SessionPage {
  items: Item[] | null;
  before?: Position;
}

export interface SessionPageRequest {
  handle: Handle;
  before?: Position;
}

export interface SessionRef {
  key: SessionKey;
}

export type SessionState = 'starting' | 'running' | 'waiting' | 'blocked' | 'idle' | 'done' | 'failed' | 'canceled';

export interface Sessions {
  sessions: Session[] | null;
  next?: string;
  total?: number;
}

export interface SetSettings {
  path: string;
  value: unknown | null;
}

export interface SettingResult {
  chat: ChatSummary;
  notice?: Notice;
}

export interface Settings {
  values: unknown | null;
  path: string;
  problems?: Issue[];
  keptAside?: string;
}

export interface SettingsResult {
  settings: Settings;
}

export interface StatusResult {
  live: boolean;
  agent?: AgentInfo;
  status?: Inspection;
}

export interface StopResult {
  turn: TurnState;
  error?: string;
}

export type StopStep = 'asked' | 'owed' | 'ending' | 'stuck' | 'shared';

export interface Stopping {
  step: StopStep;
  at: number;
  endsAt?: number;
  error?: string;
  ends?: string[];
}

export interface StoredFolder {
  harness: string;
  cwd: string;
  project: Project;
  sessions: number;
  updatedAt: number;
}

export interface StoredFolders {
  folders: StoredFolder[] | null;
  checking?: boolean;
}

export interface StoredRequest {
  harness?: string;
  cwd?: string;
  cursor?: string;
  limit?: number;
  fresh?: boolean;
}

export interface StoredResult {
  sessions: StoredSession[] | null;
  next?: string;
  checking?: boolean;
}

export interface StoredSession {
  handle: Handle;
  title: string;
  updatedAt: number;
  size?: number;
  model?: string;
  startedAt?: number;
  first?: string;
  last?: string;
  lastTurn?: string;
  lastTurnEndedAt?: number;
  usage?: Usage;
  skippedLines?: number;
  clockOdd?: boolean;
}

export interface SubagentInfo {
  id: string;
  parentId?: string;
  type: string;
  title?: string;
  status: string;
  startedAt?: number;
  endedAt?: number;
}

export interface Subscribe {
  topic: string;
  since?: number;
  epoch?: string;
}

export interface Subscribed {
  seq: number;
  epoch: string;
  resumed?: boolean;
  snapshot?: unknown;
}

export interface TakeBack {
  chatId: string;
  force?: boolean;
}

export interface TaskDetail {
  agent: string;
  prompt?: string;
}

export interface Terminal {
  id: string;
  title: string;
  cwd: string;
  command: string;
  pid: number;
  cols: number;
  rows: number;
  startedAt: number;
  running: boolean;
  exitCode?: number;
  signal?: string;
  bell?: boolean;
  chatId?: string;
  program?: ProgramStatus;
  busy?: boolean;
}

export interface TerminalApps {
  apps: PlaceChoice[] | null;
}

export interface TerminalColors {
  foreground: string;
  background: string;
  cursor: string;
  palette?: string[];
}

export interface TerminalRef {
  id: string;
}

export interface TerminalResult {
  terminal: Terminal;
}

export interface TerminalText {
  lines: string[] | null;
}

export interface Terminals {
  terminals: Terminal[] | null;
}

export interface Thinking {
  id: string;
  label: string;
  default?: boolean;
}

export type Tier = 'safe' | 'moderate' | 'dangerous' | 'planning';

export type ToolKind = 'read' | 'edit' | 'write' | 'execute' | 'search' | 'fetch' | 'think' | 'mcp' | 'task' | 'question' | 'other';

export interface Topic {
  topic: string;
}

export interface TrustCheck {
  harness: string;
  cwd: string;
}

export interface TrustGrant {
  cwd: string;
  state: string;
}

export interface TrustQuestion {
  cwd: string;
  root: string;
  state: string;
  starts: ProjectStart[] | null;
  needed: boolean;
}

export interface TurnChanged {
  turn: number;
  origin: TurnOrigin;
  state: TurnState;
  at: number;
  end?: TurnEnd;
}

export interface TurnEnd {
  outcome: Outcome;
  reason?: string;
  text?: string;
  fix?: string;
}

export type TurnOrigin = 'prompt' | 'agent';

export type TurnState = 'idle' | 'opening' | 'running' | 'stopping';

export interface TurnUsage {
  turn: number;
  startedAt?: number;
  endedAt?: number;
  usage: Usage;
}

export interface UIState {
  key: string;
  value: unknown | null;
}

export interface UIStateGet {
  key: string;
}

export interface UnknownDetail {
  input?: unknown;
  output?: unknown;
}

export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning?: number;
  costUsd?: number;
  context?: ContextUse;
  requestId?: string;
  messageId?: string;
  windows?: PlanWindow[];
}

export type WaitingKind = 'approval' | 'question' | 'plan' | 'mode' | 'signin' | 'limit' | 'trust' | 'unknown';

export interface WindowLook {
  focused: boolean;
  at?: string;
}

export interface WriteDetail {
  path: string;
  content: string;
  created: boolean;
}

/** Every call of the API: its parameters and its answer. */
export interface Methods {
  'host.hello': { params: Hello; result: HelloResult };
  'host.goodbye': { params: Goodbye; result: GoodbyeResult };
  'host.info': { params: None; result: HelloResult };
  'host.raise': { params: Raise; result: RaiseResult };
  'host.looks': { params: WindowLook; result: None };
  'attention.set': { params: AttentionSet; result: None };
  'host.doctor': { params: None; result: DoctorResult };
  'events.subscribe': { params: Subscribe; result: Subscribed };
  'events.unsubscribe': { params: Topic; result: None };
  'harnesses.list': { params: HarnessList; result: Harnesses };
  'harnesses.setEnabled': { params: HarnessSwitch; result: Harnesses };
  'harnesses.refresh': { params: HarnessRefresh; result: Harnesses };
  'harnesses.options': { params: HarnessRef; result: SchemaResult };
  'catalog.get': { params: CatalogRequest; result: CatalogResult };
  'sessions.list': { params: Listing; result: Sessions };
  'sessions.acknowledge': { params: SessionRef; result: None };
  'sessions.focus': { params: SessionRef; result: FocusResult };
  'sessions.open': { params: SessionRef; result: ChatResult };
  'sessions.stored': { params: StoredRequest; result: StoredResult };
  'sessions.preview': { params: PreviewRequest; result: PreviewResult };
  'search.find': { params: SearchRequest; result: SearchResult };
  'sessions.storedFolders': { params: StoredRequest; result: StoredFolders };
  'sessions.rows': { params: SessionPageRequest; result: SessionPage };
  'chats.list': { params: Listing; result: Chats };
  'chats.create': { params: CreateChat; result: ChatResult };
  'chats.rows': { params: RowsRequest; result: RowsResult };
  'chats.content': { params: ContentRequest; result: ContentResult };
  'chats.send': { params: SendPrompt; result: SendResult };
  'chats.stop': { params: ChatRef; result: StopResult };
  'chats.restartServer': { params: ChatRef; result: StopResult };
  'chats.usage': { params: ChatRef; result: ChatUsage };
  'prompts.history': { params: PromptsRequest; result: Prompts };
  'changes.turn': { params: ChangesRequest; result: Changes };
  'changes.chat': { params: ChangesRequest; result: Changes };
  'changes.diff': { params: DiffRequest; result: DiffResult };
  'changes.git': { params: GitRequest; result: GitStatus };
  'changes.gitDiff': { params: GitDiffRequest; result: GitDiff };
  'chats.set': { params: ChatSetting; result: SettingResult };
  'chats.queue': { params: QueueEdit; result: QueueResult };
  'chats.rewind': { params: RewindRequest; result: None };
  'chats.rewindPreview': { params: RewindRequest; result: RewindPreview };
  'chats.status': { params: ChatRef; result: StatusResult };
  'chats.cancelItem': { params: ItemRef; result: None };
  'chats.fork': { params: ChatRef; result: ChatResult };
  'chats.close': { params: ChatRef; result: None };
  'chats.remove': { params: ChatRef; result: None };
  'chats.seen': { params: ChatRef; result: None };
  'chats.export': { params: ExportRequest; result: ExportResult };
  'chats.removal': { params: ChatRef; result: Removal };
  'chats.removed': { params: None; result: RemovedChats };
  'chats.forgetRemoved': { params: None; result: None };
  'chats.cards': { params: CardsRequest; result: CardsResult };
  'approvals.list': { params: None; result: Approvals };
  'approvals.answer': { params: AnswerApproval; result: AnswerResult };
  'approvals.rules': { params: None; result: Rules };
  'approvals.revokeRule': { params: RuleRef; result: Rules };
  'approvals.audit': { params: AuditRequest; result: Audit };
  'trust.check': { params: TrustCheck; result: TrustQuestion };
  'trust.grant': { params: TrustGrant; result: TrustQuestion };
  'handoff.preview': { params: ChatRef; result: HandoffPreview };
  'handoff.toTerminal': { params: HandoffRequest; result: HandoffResult };
  'handoff.takeBack': { params: TakeBack; result: HandResult };
  'handoff.withdraw': { params: ChatRef; result: HandResult };
  'terminals.list': { params: None; result: Terminals };
  'terminals.create': { params: CreateTerminal; result: TerminalResult };
  'terminals.attach': { params: AttachTerminal; result: Attached };
  'terminals.detach': { params: DetachTerminal; result: None };
  'terminals.resize': { params: ResizeTerminal; result: None };
  'terminals.colors': { params: TerminalColors; result: None };
  'terminals.close': { params: TerminalRef; result: None };
  'terminals.read': { params: ReadTerminal; result: TerminalText };
  'terminals.apps': { params: None; result: TerminalApps };
  'settings.get': { params: None; result: SettingsResult };
  'settings.set': { params: SetSettings; result: SettingsResult };
  'settings.schema': { params: None; result: SchemaResult };
  'uistate.get': { params: UIStateGet; result: UIState };
  'uistate.set': { params: UIState; result: None };
  'files.find': { params: FilesRequest; result: FilesResult };
  'files.open': { params: OpenFile; result: OpenFileResult };
  'attachments.add': { params: AddAttachment; result: AttachmentResult };
  'attachments.read': { params: ReadAttachment; result: AttachmentContent };
}

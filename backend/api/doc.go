// Package api is the one way into the host: services, an ordered and
// flow-controlled event stream, JSON-RPC 2.0 in text frames and terminal bytes
// in binary frames, over HTTP Upgrade to WebSocket on the host's unix socket.
//
// # Calls
//
// A request is {"jsonrpc":"2.0","id":N,"method":"chats.send","params":{...}}.
// Methods and their shapes are the table in methods.go, from which the
// TypeScript client types are generated (a drift fails the build). Errors have
// a stable Code, a text for people and, where there is one, the command that
// fixes it. The first call of a connection is host.hello.
//
// # Events
//
// events.subscribe {topic, since?} answers with a snapshot and the sequence
// number it stands for, or, when since is still in the topic's ring, with
// resumed=true and no snapshot; what follows arrives as notifications
// {"method":"event","params":Event} in order and without gap. The client
// acknowledges with {"method":"ack","params":{"seq":n}} at least every 64
// events or 256 KiB. A client that falls too far behind gets a "gap" event and
// subscribes anew. A payload is at most 256 KiB, both ways; bigger content is
// fetched by id. Only chats.send and attachments.add may be larger (24 MiB).
//
// # Binary frames
//
// kind u8, stream u32 (big endian), payload. Kinds: see Frame*.
package api

package program

const plainAnswer = `You wrote: *%s*%s

I am **Rehearsal**, a small agent that ships with Whippletree. I work offline, from a script: there is no model behind me, and nothing you type leaves this computer. Everything around me is real, though: my own process, my session file, my requests for permission.

### Things to try

- **plan**: I make a plan and tick it off
- **edit**: I change a file in a scratch folder, after asking
- **run**: I run a harmless command, after asking
- **question**: I ask you something
- **agents**: I send out two helpers
- **later**: I come back by myself after the turn
- **wait**: I stand still until you stop me or say something
- **long** and **fail**: what they say

You can combine them in one message:

` + "```text\nplan, then edit and run\n```" + `

| While I work | What happens |
| --- | --- |
| Stop | I stop, and tell how far I got |
| Send a message | I take it in and go on |
| Continue in terminal | The same conversation, in my own terminal |
`

const helpAnswer = `### What this rehearsal can show

| Word | What it shows |
| --- | --- |
| **plan** | a plan that ticks; in plan mode, a plan you accept first |
| **edit** | a diff, a request for permission, a file that really changes |
| **run** | a command with its output; add *date*, *list*, *count* or *broken* |
| **question** | a card with three kinds of questions |
| **agents** | two helpers with rows of their own |
| **later** | a turn the agent starts by itself |
| **wait** | a turn that stands still until you stop it or say something |
| **long** | an answer long enough to scroll |
| **fail** | a turn that fails |

Words can be combined. Everything else gets a plain answer.
`

const longAnswer = `# A short history of rehearsals

## 1. The empty room

Every rehearsal begins in an empty room. Somebody finds the light switch, somebody else finds that it does nothing, and a chair is carried in from the corridor. Nobody speaks loudly yet. The room has to get used to the people first.

## 2. Reading

The first reading is always too fast. Everyone hurries towards the lines they know, and stumbles over the ones they do not. That is what it is for:

1. to hear the whole of it once,
2. to find the places where it catches,
3. to laugh at the wrong moments while it is still allowed.

## 3. Marks on the floor

Tape is cheaper than walls. A cross is a door, a line is a river, and for some weeks everyone walks around furniture that is not there.

` + "```text\n  +------------------+\n  |   x         x    |\n  |       ___        |   x  a door\n  |      |   |       |   ~  the river\n  |  ~~~~~~~~~~~~~~  |\n  +------------------+\n```" + `

## 4. Getting it wrong

> Do it again, and this time as if you had never done it before.

A mistake in a rehearsal costs a minute. The same mistake later costs an evening. So the useful question after a mistake is not *who*, it is *where does it lead if we follow it*: some of the best scenes were accidents that somebody wrote down.

## 5. The last week

| Day | What is missing | What there is |
| --- | --- | --- |
| Monday | half of the costumes | a great deal of confidence |
| Wednesday | the other half | the first half, in the wrong size |
| Friday | sleep | everything else |

Lights are hung, taken down, and hung again two hands to the left. Somebody counts the candles. Somebody counts the exits.

## 6. Curtain

And then there are people in the dark, and the room is not empty any more, and everything that was agreed is either there or it is not. That is all a rehearsal can do: it makes sure that when the light comes on, everyone knows where the door is.

*That was the long answer. Say* **help** *to see what else there is.*
`

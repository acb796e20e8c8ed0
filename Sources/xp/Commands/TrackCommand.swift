import ArgumentParser
import ComparisonKit
import ConformanceSubjects
import Experimentation
import ExperimentationSQLite
import Foundation

/// The command `xp track`.
struct TrackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "track",
        abstract: "Deliver events, one JSON object per line, and print the ledger at the end.",
        discussion: """
            INPUT, one object per line; "at" is optional:
              {"user":{"id":"ada"},"event":{"type":"custom","name":"search","value":1,
               "attributes":{"for":"mug"}},"at":"2026-11-21T10:00:00.000Z"}

            A line counts as accepted once it is in the store. For an invalid line an error object is printed; the rest \
            continue, and the exit status is 1. On a signal, it delivers or keeps everything and ends within five seconds.

            TYPES OF EVENTS AND THEIR FIELDS (every event may have "attributes")
            \(Self.types)

            EXAMPLES
              xp track --config flagship.json --input events.jsonl --store outbox.db
              tail -f events.jsonl | xp track --config evergage.json
            """
    )

    private static var types: String {
        EventShape.all.map { shape in
            let fields = shape.fields.map { "\($0.name)\($0.isRequired ? "" : "?"): \($0.holds)" }
            return "  \(shape.type): \(shape.summary)"
                + (fields.isEmpty ? "" : "\n      " + fields.joined(separator: "\n      "))
        }
        .joined(separator: "\n")
    }

    @Option(help: ArgumentHelp("The vendor and its settings, JSON or YAML.", valueName: "file"))
    var config: String

    @Option(help: ArgumentHelp("The events; - is standard input.", valueName: "file"))
    var input: String = "-"

    @Option(
        help: ArgumentHelp(
            "The store file for events until they are delivered; created, with its folder, if it doesn't exist.",
            valueName: "file"
        )
    )
    var store: String?

    @Option(help: ArgumentHelp("How long to continue without progress after the last line.", valueName: "seconds"))
    var deadline: Int = 10

    func validate() throws {
        try Stores.expectName(store)
        guard (0...86_400).contains(deadline) else { throw ValidationError("--deadline: expected seconds, 0 to 86400") }
    }

    func run() async throws {
        let configuration = try Configuration(at: config)
        let lines = try LineReader(input)
        let progress = Intake.Progress()
        let signals = await Signals { [store] in Self.tooLate(progress.counts, store) }
        // This provider only names the account that owns the store; the client gets one with its state in the store.
        let account = try configuration.provider()
        let opening = Task { [store] in try await Stores.open(store, for: account) }
        guard let opened = try await Impatient.value(of: opening, unless: signals, orLater: .seconds(2)) else {
            throw Failure(.input, "interrupted before a line was read: \(Stores.unanswering(store ?? ""))")
        }
        if store == nil { Terminal.say("xp: without --store, events that wait are lost when this command ends") }
        let before = try await opened.outbox.ledger()
        let client = try await configuration.client(store: opened)
        let intake = Intake(client: client, isDurable: store != nil, progress: progress)
        let reading = Task { try await intake.take(lines, until: signals) }
        await Impatient.wait(for: reading, unless: signals)
        // The current block is accepted to its end; a read from a silent pipe is abandoned.
        await Impatient.wait(for: reading, atMost: signals.hasCome ? .milliseconds(1500) : nil)
        let status = await intake.deliver(patience: .seconds(deadline), until: signals)
        Terminal.endProgress()
        await client.shutdown(within: .seconds(1))
        let ledger = try await opened.outbox.ledger()
        try Terminal.write(JSONLine.text(["ledger": ledger.document]) + "\n")
        if signals.hasCome { Terminal.say("xp: " + Self.interrupted(progress.counts)) }
        if !signals.hasCome { try await reading.value }
        let dropped = ledger.dropped.values.reduce(0, +) - before.dropped.values.reduce(0, +)
        let ending = Ending(
            counts: progress.counts,
            pending: ledger.pending,
            dropped: dropped,
            remains: Remains(
                status: status,
                vendor: configuration.vendor.name,
                delivered: ledger.delivered - before.delivered,
                pace: client.pace
            ),
            isInterrupted: signals.hasCome
        )
        try conclude(ending)
    }

    /// Returns the message for a signal after which time ran out.
    private static func tooLate(_ counts: Intake.Counts, _ store: String?) -> Failure {
        let beginning = interrupted(counts)
        guard let store else {
            return Failure(.unavailable, "\(beginning); what was not delivered is lost: name a --store")
        }
        return Failure(.input, "\(beginning), which are kept in \(Stores.unanswering(store))")
    }

    /// Returns where to continue; blank lines aren't events, but editors count them.
    private static func interrupted(_ counts: Intake.Counts) -> String {
        "interrupted after " + counts.lines.of("line", "lines")
            + (counts.lastLine > counts.lines ? ", the last of them line \(counts.lastLine) of the input" : "")
    }

    /// The state at the end of the run.
    private struct Ending {
        var counts: Intake.Counts
        var pending: Int
        var dropped: Int
        var remains: Remains
        var isInterrupted: Bool
    }

    private func conclude(_ ending: Ending) throws {
        if let failure = ending.counts.storeFailure {
            throw Failure(
                .input,
                "\(failure.message) Reading stopped after line \(ending.counts.lastLine): "
                    + "track again the lines that have an error, and what comes after"
            )
        }
        if ending.counts.isFull {
            let vendor = ending.remains.vendor
            throw Failure(.unavailable, "\(vendor) accepts no events, and no more fit into memory: name a --store")
        }
        if ending.pending > 0, store == nil {
            let lost = ending.pending.of(
                "event was not delivered and is lost",
                "events were not delivered and are lost"
            )
            let isHeld = ending.remains.status.held == ending.pending
            let why = isHeld ? ", because their users haven't consented" : ""
            throw Failure(.unavailable, "\(lost)\(why): name a --store")
        }
        if ending.pending > 0 {
            Terminal.say("xp: " + ending.pending.of("event waits", "events wait") + " in \(store ?? "memory")")
        }
        if ending.counts.refused > 0 {
            let refused = ending.counts.refused.ofLines(ending.counts.lines)
            throw Failure(.checkFailed, "\(refused) not accepted; the output says why")
        }
        if ending.dropped > 0 {
            let given = ending.dropped.of("event was dropped", "events were dropped")
            throw Failure(.checkFailed, "\(given); the ledger says why")
        }
        if !ending.isInterrupted, let failure = ending.remains.failure { throw failure }
    }
}

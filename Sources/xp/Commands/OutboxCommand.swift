import AdapterKit
import ArgumentParser
import ConformanceSubjects
import Experimentation
import ExperimentationSQLite
import Foundation
import VendorCatalog

/// The command `xp outbox`.
struct OutboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: "Show, deliver or export the waiting events of a store file.",
        discussion: """
            EXAMPLES
              xp outbox status --store outbox.db
              xp outbox flush --store outbox.db --config flagship.json
              xp outbox export --store outbox.db > events.jsonl
            """,
        subcommands: [Status.self, Flush.self, Export.self]
    )

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }

    /// The command `xp outbox status`.
    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show which events wait, and why.",
            discussion: """
                EXAMPLES
                  xp outbox status --store outbox.db --format json
                """
        )

        @Option(help: ArgumentHelp("The store file.", valueName: "file"))
        var store: String

        @Option(help: "The output format.")
        var format: Format = .text

        func validate() throws { try Stores.expectName(store) }

        func run() async throws {
            let file = try await Stores.file(store)
            do {
                let accounts = try await file.accounts(now: Date())
                let all = Accounts(accounts.status, accounts.ledger)
                let owed = accounts.destinations.map { ($0.destination, Accounts($0.status, $0.ledger)) }
                try Terminal.write(format == .json ? json(all, owed) : text(all, owed))
            } catch let error as ExperimentationError {
                throw Failure(error)
            }
        }

        private func json(_ all: Accounts, _ owed: [(Destination, Accounts)]) -> String {
            var document = all.document
            document["destinations"] = .array(
                owed.map { destination, accounts in
                    var document = accounts.document
                    document["provider"] = .string(destination.provider)
                    document["account"] = .string(destination.account)
                    return .object(document)
                }
            )
            return JSONLine.text(.object(document)) + "\n"
        }

        private func text(_ all: Accounts, _ owed: [(Destination, Accounts)]) -> String {
            var lines = all.lines
            // With one destination, the totals already are its accounts.
            for (destination, accounts) in owed.count > 1 ? owed : [] {
                // The account is a digest; its first digits suffice to tell accounts apart.
                lines += ["", "\(destination.provider) \(destination.account.prefix(8))"]
                lines += accounts.lines.map { "  " + $0 }
            }
            return Terminal.plain(lines)
        }
    }

    /// The command `xp outbox flush`.
    struct Flush: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deliver waiting events and print the ledger.",
            discussion: """
                EXAMPLES
                  xp outbox flush --store outbox.db --config flagship.json
                """
        )

        @Option(help: ArgumentHelp("The store file.", valueName: "file"))
        var store: String

        @Option(help: ArgumentHelp("The vendor and its settings, JSON or YAML.", valueName: "file"))
        var config: String

        @Option(help: ArgumentHelp("How long to continue without progress.", valueName: "seconds"))
        var deadline: Int = 10

        func validate() throws {
            try Stores.expectName(store)
            guard (0...86_400).contains(deadline) else {
                throw ValidationError("--deadline: expected seconds, 0 to 86400")
            }
        }

        func run() async throws {
            let configuration = try Configuration(at: config)
            let account = try configuration.provider()
            let signals = await Signals { [store] in
                Failure(.input, "interrupted; everything that isn't delivered stays in \(Stores.unanswering(store))")
            }
            let opening = Task { [store] in try await Stores.openExisting(store, for: account) }
            guard let file = try await Impatient.value(of: opening, unless: signals, orLater: .seconds(2)) else {
                throw Failure(.input, "interrupted before anything was delivered: \(Stores.unanswering(store))")
            }
            let before = try await file.outbox.ledger()
            let client = try await configuration.client(store: file)
            let intake = Intake(client: client, isDurable: true)
            let status = await intake.deliver(patience: .seconds(deadline), until: signals)
            Terminal.endProgress()
            await client.shutdown(within: .seconds(1))
            let ledger = try await file.outbox.ledger()
            try Terminal.write(JSONLine.text(["ledger": ledger.document]) + "\n")
            let remains = Remains(
                status: status,
                vendor: configuration.vendor.name,
                delivered: ledger.delivered - before.delivered,
                pace: client.pace,
                isCounted: true
            )
            if !signals.hasCome, let failure = remains.failure { throw failure }
        }
    }

    /// The command `xp outbox export`.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print waiting events, one per line in the format of xp track; the store is unchanged.",
            discussion: """
                EXAMPLES
                  xp outbox export --store outbox.db > events.jsonl
                """
        )

        @Option(help: ArgumentHelp("The store file.", valueName: "file"))
        var store: String

        func validate() throws { try Stores.expectName(store) }

        func run() async throws {
            let file = try await Stores.openExisting(store).outbox
            do {
                var last: Int64 = 0
                while true {
                    let batch = try await file.waiting(after: last, limit: 1000)
                    guard let end = batch.last else { break }
                    last = end.envelope.sequence
                    try Terminal.write(batch.map { try Self.line($0) + "\n" }.joined())
                }
            } catch let error as ExperimentationError {
                throw Failure(error)
            }
        }

        private static func line(_ waiting: WaitingEvent) throws(ExperimentationError) -> String {
            var line = try EventForm.value(of: waiting.envelope).objectValue ?? [:]
            if waiting.restsOnConsent {
                var user = line["user"]?.objectValue ?? [:]
                user["consent"] = true
                line["user"] = .object(user)
            }
            return JSONLine.text(.object(line))
        }
    }
}

extension WaitingEvent {
    /// Whether its user must have consented: it isn't held, and a vendor that needs consent is owed it.
    ///
    /// A store remembers denials, but not who consented. Vendors that don't need consent tell nothing about it, and
    /// neither does the consent signal, which is never held.
    fileprivate var restsOnConsent: Bool {
        !envelope.event.isConsentSignal && deliveries.allSatisfy { !$0.isHeld }
            && deliveries.contains { VendorCatalog.needsConsent(destination: $0.destination.provider) }
    }
}

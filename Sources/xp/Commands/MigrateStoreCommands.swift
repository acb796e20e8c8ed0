import ArgumentParser
import Experimentation
import ExperimentationMigration
import ExperimentationSQLite
import Foundation

extension ImportLine {
    fileprivate init(_ line: LineReader.Line) { self.init(number: line.number, bytes: line.bytes) }
}

extension MigrateCommand {
    /// The command `xp migrate import`.
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Import assignments of another system.",
            discussion: """
                One record per line. Variations that a user already has stay. An interrupted import resumes where it stopped.

                EXAMPLES
                  xp migrate import --plan plan.json --store app.db --as visitor-cache \\
                    --input cache.jsonl
                  xp migrate import --plan plan.json --store app.db --as csv \\
                    --input - < users.csv
                """
        )

        @Option(help: ArgumentHelp("The plan.", valueName: "file"))
        var plan: String

        @Option(help: ArgumentHelp("The assignments; - is standard input.", valueName: "file"))
        var input: String

        @Option(
            name: .customLong("as"),
            help: ArgumentHelp(
                "The format of the lines: \(AssignmentFormat.allCases.map(\.rawValue).joined(separator: ", ")).",
                valueName: "format"
            ),
            transform: { name in
                guard let format = AssignmentFormat(rawValue: name) else {
                    let known = AssignmentFormat.allCases.map(\.rawValue).joined(separator: ", ")
                    throw ValidationError("--as: there is no \"\(name)\"; expected one of \(known)")
                }
                return format
            }
        )
        var shape: AssignmentFormat

        @Option(
            help: ArgumentHelp(
                "The store file of the client that moves; created, with its folder, if it doesn't exist.",
                valueName: "file"
            )
        )
        var store: String

        func validate() throws { try Stores.expectName(store) }

        func run() async throws {
            let file = try PlanFile(at: plan)
            try file.expectTwoAccounts()
            let provider = try file.provider("from")
            let reader = try LineReader(input)
            // Read before the store is opened, so that a rejected file doesn't leave an empty store behind.
            var first = try await reader.next().map(ImportLine.init)
            try expectFormat(first, in: reader.name)
            let target = try await Stores.open(store, for: provider)
            let work = AssignmentImport(file.plan, as: shape, from: provider, into: target.state)
            let report: ImportReport
            do {
                let name = input == "-" ? nil : URL(filePath: input).standardizedFileURL.path
                report = try await work.importLines(named: name) {
                    if let line = first {
                        first = nil
                        return line
                    }
                    return try await reader.next().map(ImportLine.init)
                } progress: { lines in
                    Terminal.progress(lines.of("line", "lines"))
                }
            } catch let error as ExperimentationError {
                Terminal.endProgress()
                throw Failure(.input, "\(reader.name): \(error.message)")
            }
            Terminal.endProgress()
            try Terminal.write(JSONLine.text(Self.document(report)) + "\n")
            if !report.refused.isEmpty {
                let refused = report.refused.values.reduce(0, +)
                let what = refused.of("assignment or line wasn't", "assignments or lines weren't")
                throw Failure(.checkFailed, "\(what) imported")
            }
        }

        private func expectFormat(_ line: ImportLine?, in file: String) throws {
            guard let line else {
                throw Failure(.input, "\(file): is empty; expected lines of the format \(shape.rawValue)")
            }
            var reader = AssignmentReader(shape)
            do throws(ImportFault) {
                _ = try reader.read(line)
            } catch {
                let place = "\(file): line \(line.number)"
                throw Failure(.input, "\(place) isn't of the format \(shape.rawValue): \(error)")
            }
        }

        private static func document(_ report: ImportReport) -> FlagValue {
            [
                "lines": .int(report.lines), "resumedAfter": .int(report.resumedAfter), "users": .int(report.users),
                "taken": .int(report.taken),
                "known": .int(report.known), "refused": .object(report.refused.mapValues { .int($0) }),
                "examples": .array(report.examples.map { .string($0) }),
            ]
        }
    }

    /// The command `xp migrate status`.
    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a move's stage, users and both ledgers.",
            discussion: """
                EXAMPLES
                  xp migrate status --plan plan.json --store app.db
                """
        )

        @Option(help: ArgumentHelp("The plan.", valueName: "file"))
        var plan: String

        @Option(help: ArgumentHelp("The store file of the client that moves.", valueName: "file"))
        var store: String

        @Option(help: "The output format.")
        var format: OutboxCommand.Format = .text

        func validate() throws { try Stores.expectName(store) }

        func run() async throws {
            let file = try PlanFile(at: plan)
            let provider = try file.provider("from")
            let opened = try await Stores.file(store, for: provider)
            do {
                let new = try file.names("to") ? file.provider("to") : nil
                let record = try await MigrationRecord(file.plan, from: provider, to: new, in: opened)
                let ledgers = try await opened.accounts(now: Date()).destinations.map { ($0.destination, $0.ledger) }
                try Terminal.write(format == .json ? json(record, ledgers) : text(record, ledgers))
            } catch let error as ExperimentationError {
                throw Failure(error)
            }
        }

        private func json(_ record: MigrationRecord, _ ledgers: [(Destination, Ledger)]) -> String {
            let document: FlagValue = [
                "stage": .string(record.stage.rawValue), "share": .double(record.share), "users": .int(record.people),
                "sides": Self.bySide(record.sides),
                "unsupported": Self.bySide(record.unsupported),
                "ledgers": .array(
                    ledgers.map { destination, ledger in
                        [
                            "provider": .string(destination.provider), "account": .string(destination.account),
                            "ledger": ledger.document,
                        ]
                    }
                ),
            ]
            return JSONLine.text(document) + "\n"
        }

        private static func bySide(_ counts: [MigrationSide: Int]) -> FlagValue {
            .object(
                Dictionary(uniqueKeysWithValues: MigrationSide.allCases.map { ($0.rawValue, .int(counts[$0] ?? 0)) })
            )
        }

        private func text(_ record: MigrationRecord, _ ledgers: [(Destination, Ledger)]) -> String {
            var lines = [
                "stage      \(record.stage)", "share      \(record.share)",
                "users      \(record.people)  (old \(record.sides[.old] ?? 0), new \(record.sides[.new] ?? 0))",
            ]
            if record.unsupported.values.contains(where: { $0 > 0 }) {
                let counts = MigrationSide.allCases.map { "\($0) \(record.unsupported[$0] ?? 0)" }
                lines.append("unsupported  \(counts.joined(separator: ", "))  (events that only the other vendor got)")
            }
            for (destination, ledger) in ledgers {
                lines.append(
                    "\(destination)  accepted \(ledger.accepted), delivered \(ledger.delivered), pending \(ledger.pending)"
                )
            }
            return Terminal.plain(lines)
        }
    }
}

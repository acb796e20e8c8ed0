import ArgumentParser
import ComparisonKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import ExperimentationMigration
import Foundation

/// The command `xp migrate`.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Move from one vendor to another while users are on it.",
        discussion: """
            EXAMPLES
              xp migrate simulate --from flagship --to sigma
              xp migrate simulate --from flagship --to sigma --users 10000 --format html > move.html

            How a move goes, stage by stage, is in docs/moving.md.
            """,
        subcommands: [Plan.self, Import.self, Move.self, Status.self, Simulate.self]
    )

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, markdown, json, html }

    /// The command `xp migrate simulate`.
    struct Simulate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Play a whole move on embedded mock vendors.",
            discussion: """
                Users come and go, experiments run, the stages go forth and back, a vendor is away for a while, and the process is
                killed and starts again. At the end: who saw another variant, which exposures were counted twice or not at
                all, both ledgers, and the sample ratio.

                EXAMPLES
                  xp migrate simulate --from flagship --to sigma
                  xp migrate simulate --from sigma --to flagship-bucketing --users 5000 --format json
                  xp migrate simulate --plan plan.json --faults faults.json
                """
        )

        @Option(help: ArgumentHelp("The vendor that is left; the plan's unless it is named.", valueName: "name"))
        var from: String?

        @Option(help: ArgumentHelp("The vendor that is moved to; the plan's unless it is named.", valueName: "name"))
        var to: String?

        @Option(
            help: ArgumentHelp(
                "A plan, whose experiments are played; the shop's, all carried along, unless it is named.",
                valueName: "file"
            )
        )
        var plan: String?

        @Option(
            help: ArgumentHelp(
                "What goes wrong besides, as docs/schemas/move-faults.schema.json has it.",
                valueName: "file"
            )
        )
        var faults: String?

        @Option(help: ArgumentHelp("How many users there are.", valueName: "n"))
        var users: Int = 1_000

        @Option(help: "How to write the report.")
        var format: Format = .text

        @Option(help: ArgumentHelp("Where to write it; standard output if it isn't named.", valueName: "file"))
        var output: String?

        func validate() throws {
            guard (1...10_000_000).contains(users) else {
                throw ValidationError("--users: expected a number from 1 to 10000000")
            }
            guard plan != nil || (from != nil && to != nil) else {
                throw ValidationError("expected --plan, or --from and --to")
            }
            guard from == nil || from != to else { throw ValidationError("--from and --to: expected two vendors") }
        }

        /// Up to this many users, their assignments are kept in memory; beyond it, in a temporary file.
        private static let usersInMemory = 5_000

        private func simulation() throws -> MoveSimulation {
            let file = try plan.map { try PlanFile(at: $0) }
            func subject(_ name: String?, _ member: String) throws -> any ConformanceSubject {
                if let name { return try Chosen.subjects([name], orElse: [])[0] }
                guard let file else { throw Failure(.usage, "expected --plan, or --from and --to") }
                return try file.subject(member)
            }
            let (old, new) = (try subject(from, "from"), try subject(to, "to"))
            for subject in [old, new] where !subject.capabilities.contains(.flags) {
                throw Failure(
                    .usage,
                    "\(subject.name) decides nothing that could be moved; expected a vendor with flags"
                )
            }
            guard old.name != new.name else { throw Failure(.usage, "expected two vendors, found \(old.name) twice") }
            var simulation = MoveSimulation(from: old, to: new, users: users)
            if let file { simulation.play(file.plan) }
            if let faults {
                let document = try InputFile.document(faults)
                do throws(DocumentError) {
                    simulation.faults = try MoveFault.all(
                        in: document.value,
                        named: faults,
                        steps: simulation.steps.count
                    )
                } catch {
                    throw Failure(error)
                }
            }
            return simulation
        }

        func run() async throws {
            var simulation = try simulation()
            try OutputFile.expectWritable(output)
            let folder = FileManager.default.temporaryDirectory.appending(path: "xp-simulate-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            if users > Self.usersInMemory {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                simulation.store = try await Stores.temporary(in: folder)
            }
            let report: MoveReport
            do {
                report = try await simulation.run { progress in
                    Terminal.progress("step \(progress.step) of \(progress.steps): \(progress.users) users")
                }
            } catch let error as ExperimentationError {
                Terminal.endProgress()
                throw Failure(error)
            }
            Terminal.endProgress()
            try OutputFile.deliver(report.text(as: MoveReport.Format(rawValue: format.rawValue) ?? .text), to: output)
            if !report.isGood {
                throw Failure(.checkFailed, "the move didn't keep what it promises; the report says where")
            }
        }
    }
}

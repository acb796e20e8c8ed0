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
        abstract: "Move from one vendor to another in production.",
        discussion: """
            EXAMPLES
              xp migrate simulate --from flagship --to sigma
              xp migrate simulate --from flagship --to sigma --format html > move.html

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
                Users come and go, experiments run, stages move forward and back, a vendor has an outage, and the process is \
                killed and restarted. The report shows which users saw another variant, which exposures were counted twice \
                or not at all, both ledgers, and the sample ratio.

                EXAMPLES
                  xp migrate simulate --from flagship --to sigma
                  xp migrate simulate --from sigma --to flagship-bucketing --users 5000
                  xp migrate simulate --plan plan.json --faults faults.json
                """
        )

        @Option(help: ArgumentHelp("The old vendor; the plan's by default.", valueName: "name"))
        var from: String?

        @Option(help: ArgumentHelp("The new vendor; the plan's by default.", valueName: "name"))
        var to: String?

        @Option(
            help: ArgumentHelp(
                "A plan with experiments to play; the shop's, all mapped, by default.",
                valueName: "file"
            )
        )
        var plan: String?

        @Option(
            help: ArgumentHelp(
                "Additional faults, by docs/schemas/move-faults.schema.json.",
                valueName: "file"
            )
        )
        var faults: String?

        @Option(help: ArgumentHelp("The number of users.", valueName: "n"))
        var users: Int = 1_000

        @Option(help: "The output format.")
        var format: Format = .text

        @Option(help: ArgumentHelp("The report's file; standard output by default.", valueName: "file"))
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
            guard old.name != new.name else {
                let problem = "expected two vendors, found \(old.name) twice"
                throw plan.map { Failure(.input, "\($0): \(problem)") } ?? Failure(.usage, problem)
            }
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
            let folder = TemporaryFolder(of: "simulate")
            let ending = await EndingWork { folder.removeAfterwards() }
            defer {
                withExtendedLifetime(ending) {}
                folder.remove()
            }
            if users > Self.usersInMemory {
                try folder.create()
                simulation.store = try await Stores.temporary(in: folder.url)
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
                throw Failure(.checkFailed, "the move was held or broke a promise; the report says where")
            }
        }
    }
}

import ArgumentParser
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
        subcommands: [Plan.self, Import.self, Status.self, Simulate.self]
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
                """
        )

        @Option(help: ArgumentHelp("The vendor that is left.", valueName: "name"))
        var from: String

        @Option(help: ArgumentHelp("The vendor that is moved to.", valueName: "name"))
        var to: String

        @Option(help: ArgumentHelp("A plan; one that carries everything unless it is named.", valueName: "file"))
        var plan: String?

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
            guard from != to else { throw ValidationError("--from and --to: expected two vendors") }
        }

        func run() async throws {
            let subjects = try Chosen.subjects([from, to], orElse: [])
            for subject in subjects where !subject.capabilities.contains(.flags) {
                throw Failure(
                    .usage,
                    "\(subject.name) decides nothing that could be moved; expected a vendor with flags"
                )
            }
            try OutputFile.expectWritable(output)
            var simulation = MoveSimulation(from: subjects[0], to: subjects[1], users: users)
            if let plan { simulation.plan = try PlanFile(at: plan).plan }
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

import ArgumentParser
import Experimentation
import ExperimentationMigration
import Foundation

extension MigrateCommand {
    /// The command `xp migrate plan`.
    struct Plan: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what a move would break and what to finish first, and write a first mapping to correct.",
            discussion: """
                Both vendors are asked for their experiments. The plan is written to --output.

                EXAMPLES
                  xp migrate plan --from flagship.json --to sigma.json --output plan.json
                  xp migrate plan --from flagship.json --to sigma.json --mapping plan.json
                """
        )

        @Option(help: ArgumentHelp("The old vendor and its settings.", valueName: "file"))
        var from: String

        @Option(help: ArgumentHelp("The new vendor and its settings.", valueName: "file"))
        var to: String

        @Option(help: ArgumentHelp("A plan with a mapping to check.", valueName: "file"))
        var mapping: String?

        @Option(help: ArgumentHelp("The number of users to ask for, if a vendor decides for each.", valueName: "n"))
        var users: Int = 100

        @Option(help: "The output format.")
        var format: OutboxCommand.Format = .text

        @Option(help: ArgumentHelp("Where to write the plan.", valueName: "file"))
        var output: String?

        func validate() throws {
            guard (1...10_000).contains(users) else {
                throw ValidationError("--users: expected a number from 1 to 10000")
            }
        }

        func run() async throws {
            let given = try mapping.map { try PlanFile(at: $0).plan }
            let providers = [try Configuration(at: from).provider(), try Configuration(at: to).provider()]
            guard providers[0].destination != providers[1].destination else {
                throw Failure(.input, "\(to): is the same account of \(providers[1].name) as \(from)")
            }
            try OutputFile.expectWritable(output)
            let people = (1...users).map { User(id: "survey-\($0)", consent: .granted) }
            var surveys: [VendorSurvey] = []
            for (provider, path) in zip(providers, [from, to]) {
                surveys.append(try await survey(provider, path, people))
            }
            let outlook = MigrationOutlook(from: surveys[0], to: surveys[1], plan: given ?? MigrationPlan())
            if let output { try OutputFile.deliver(JSONLine.pretty(document(outlook.plan)), to: output) }
            try Terminal.write(format == .json ? JSONLine.text(json(outlook)) + "\n" : text(outlook))
            guard outlook.faults.isEmpty else {
                throw Failure(.checkFailed, "the mapping has " + outlook.faults.count.of("fault", "faults"))
            }
        }

        private func survey(
            _ provider: any ExperimentationProvider,
            _ path: String,
            _ users: [User]
        ) async throws -> VendorSurvey {
            do throws(ExperimentationError) {
                return try await VendorSurvey(of: provider, asking: users)
            } catch {
                let failure = Failure(error)
                throw Failure(failure.status, "\(path): \(provider.name): \(failure.message)")
            }
        }

        private func document(_ plan: MigrationPlan) -> FlagValue {
            guard case .object(var members) = plan.document else { return plan.document }
            // As absolute paths, because the plan may be in another folder.
            members["from"] = .string(URL(filePath: from).standardizedFileURL.path)
            members["to"] = .string(URL(filePath: to).standardizedFileURL.path)
            return .object(members)
        }

        private func faults(_ outlook: MigrationOutlook) -> [String] {
            guard let mapping, let bytes = try? InputFile.bytes(of: mapping) else {
                return outlook.faults.map(\.description)
            }
            return MigrationPlan.located(outlook.faults, in: bytes, file: mapping)
        }

        private func json(_ outlook: MigrationOutlook) -> FlagValue {
            [
                "plan": document(outlook.plan),
                "finishFirst": .array(outlook.finishFirst.map { .string($0) }),
                "faults": .array(faults(outlook).map { .string($0) }),
                "losses": .array(outlook.losses.map { .string($0) }),
            ]
        }

        private func text(_ outlook: MigrationOutlook) -> String {
            func section(_ title: String, _ lines: [String]) -> [String] {
                lines.isEmpty ? [] : ["", title] + lines.map { "  " + $0 }
            }
            let mapped = outlook.plan.mapping.experiments.map { experiment in
                let variations = experiment.variations.sorted { $0.key < $1.key }.map { "\($0) → \($1)" }
                return
                    "\(experiment.old.experiment) → \(experiment.new.experiment): \(variations.joined(separator: ", "))"
            }
            let lines =
                [mapped.count.of("experiment is mapped; review it", "experiments are mapped; review each of them")]
                + section("Mapping", mapped)
                + section("Finish first", outlook.finishFirst) + section("Lost", outlook.losses)
                + section("Faults", faults(outlook))
            return Terminal.plain(lines)
        }
    }
}

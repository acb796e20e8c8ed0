import ArgumentParser
import ComparisonKit
import ConformanceKit
import ConformanceSubjects
import Foundation

/// The command `xp compare`.
struct CompareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Run one scenario with every vendor and show the outcomes side by side.",
        discussion: """
            Every vendor is an embedded mock that speaks its wire protocol on a loopback socket.

            With --users or --input it shows instead which users would change variation: for each experiment, how many \
            move from which variation to which, with and without a hand-over of assignments, and which experiments to \
            finish first. --from and --to may then be rules files: a bucketing file, a config.json.

            EXAMPLES
              xp compare
              xp compare --scenario docs/scenarios/black-friday.yaml --rounds 20
              xp compare --monthly-users 200000 --reads 30 --events 12 --growth
              xp compare --scenario login --vendor flagship --vendor evergage
              xp compare --from sigma --to flagship --format html --output report.html
              xp compare --from sigma --to flagship-bucketing --users 100000
              xp compare --from config.json --to bucketing.json --input users.jsonl
              xp compare --vendor sigma --vendor evergage --config composed.yaml

            SCENARIOS THAT COME WITH xp
            \(Scenario.shipped.map { "  \($0.name): \($0.title)" }.joined(separator: "\n"))
            """
    )

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, markdown, json, html }

    @Option(
        help: ArgumentHelp(
            "A scenario file, JSON or YAML, or the name of a shipped one; \(Scenario.checkout.name) if none is named, "
                + "\(World.switchDay.name) for --users.",
            valueName: "file"
        )
    )
    var scenario: String?

    @Option(
        name: .customLong("vendor"),
        help: ArgumentHelp("A vendor to show; all if none is named.", valueName: "name")
    )
    var vendors: [String] = []

    @Option(help: ArgumentHelp("A composition, shown next to the vendors.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("The vendor in use, to see what would change.", valueName: "name"))
    var from: String?

    @Option(help: ArgumentHelp("The vendor to change to.", valueName: "name"))
    var to: String?

    @OptionGroup(title: "Who would change variation")
    var agreement: AgreementOptions

    @OptionGroup(title: "What it costs")
    var cost: CostOptions

    @Option(
        help: ArgumentHelp(
            "How often the scenario is run. Times are shown from \(Latency.fewestForMedian) rounds on, the 99th percentile "
                + "from \(Latency.fewestForTail), and only in a release build.",
            valueName: "n"
        )
    )
    var rounds: Int = 1

    @Option(
        help: ArgumentHelp(
            "The round trip to each vendor while times are measured; connecting takes one more.",
            valueName: "milliseconds"
        )
    )
    var roundTrip: Int = 40

    @Option(help: "The output format.")
    var format: Format = .text

    @Option(help: ArgumentHelp("The report's file; standard output by default.", valueName: "file"))
    var output: String?

    @Flag(
        name: .customLong("without-timings"),
        help: "Omit latencies; two successful texts then differ in bytes and connections at most."
    )
    var isWithoutTimings = false

    func validate() throws {
        guard (1...1000).contains(rounds) else { throw ValidationError("--rounds: expected a number from 1 to 1000") }
        guard (0...10_000).contains(roundTrip) else {
            throw ValidationError("--round-trip: expected milliseconds from 0 to 10000")
        }
        guard !(agreement.isAsked && cost.isAsked) else {
            throw ValidationError("--monthly-users and --growth can't be combined with --users and --input")
        }
        guard (from == nil) == (to == nil) else { throw ValidationError("--from and --to belong together") }
        guard from == nil || from != to else { throw ValidationError("--from and --to: expected two vendors") }
        guard from == nil || vendors.isEmpty else {
            throw ValidationError("--vendor can't be combined with --from and --to")
        }
        guard !agreement.isAsked || from != nil else {
            throw ValidationError("--users and --input: expected --from and --to beside them")
        }
        guard from == nil || config == nil else {
            throw ValidationError("--config can't be combined with --from and --to")
        }
    }

    func run() async throws {
        try OutputFile.expectWritable(output)
        if agreement.isAsked, let from, let to {
            let world = try scenario.map { try readScenario($0).world } ?? .switchDay
            let run = AgreementRun(from: from, to: to, world: world, options: agreement)
            return try await run.write(as: reportFormat, to: output)
        }
        let scenario = try scenario.map(readScenario) ?? .checkout
        let names = from.map { [$0, to ?? ""] } ?? vendors.once
        var subjects = try Chosen.subjects(names, orElse: Vendor.all.compactMap(\.subjects.first))
        if let config { subjects.append(try Configuration(at: config).composedSubject()) }
        var runner = ComparisonRunner(rounds: isWithoutTimings ? 1 : rounds)
        let isTimed = runner.rounds >= Latency.fewestForMedian && Self.isReleased
        runner.pace = isTimed ? .oneAfterAnother : .together
        runner.roundTrip = isTimed ? .milliseconds(roundTrip) : .zero
        // Leaves the longest step time for a hundred round trips.
        runner.stepLimit += .milliseconds(roundTrip) * 100
        runner.measuresGrowth = cost.growth
        runner.usage = cost.usage
        let rounds = runner.rounds
        var comparison = await runner.run(scenario, with: subjects) { progress in
            Terminal.progress(
                "\(progress.vendor): round \(progress.round) of \(rounds), step \(progress.step) of \(progress.steps)"
            )
        }
        Terminal.endProgress()
        if !isTimed { comparison = comparison.withoutTimings }
        if rounds >= Latency.fewestForMedian, !Self.isReleased {
            Terminal.say("xp: a debug build shows no times; use swift build -c release")
        }
        var swap: Swap?
        if let from, let to {
            let running = await scenario.world.runningExperiments(from: subjects[0], to: subjects[1])
            swap = comparison.swap(from: from, to: to, running: running)
        }
        let report = ComparisonReport(comparison, swap: swap)
        let text = report.text(
            as: reportFormat,
            isColored: output == nil && Terminal.isColored
        )
        try OutputFile.deliver(text, to: output)
        let failures = comparison.vendors.compactMap { story in story.failure.map { "\(story.name): \($0)" } }
        if !failures.isEmpty { throw Failure(.checkFailed, failures.joined(separator: "; ")) }
    }

    /// Whether measured times are meaningful; a debug build is several times slower.
    private static var isReleased: Bool {
        #if DEBUG
            false
        #else
            true
        #endif
    }

    private var reportFormat: ComparisonReport.Format { ComparisonReport.Format(rawValue: format.rawValue) ?? .text }

    /// Returns a scenario by name or path; a file named like a shipped one is `./checkout`.
    private func readScenario(_ scenario: String) throws -> Scenario {
        if let shipped = Scenario.shipped.first(where: { $0.name == scenario }) { return shipped }
        do {
            return try Scenario(InputFile.document(scenario))
        } catch let error as DocumentError {
            throw Failure(error)
        }
    }
}

/// Resolves the subjects named on the command line.
enum Chosen {
    static func subjects(
        _ names: [String],
        orElse all: [any ConformanceSubject]
    ) throws -> [any ConformanceSubject] {
        guard !names.isEmpty else { return all }
        return try names.map { name in
            guard let subject = Vendor.played(name) else {
                let list = Vendor.everySubject.map(\.name).joined(separator: ", ")
                throw Failure(.usage, "there is no vendor \"\(name)\"; expected one of \(list)")
            }
            return subject
        }
    }
}

extension [String] {
    /// The names in order, each once.
    var once: [String] { reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
}

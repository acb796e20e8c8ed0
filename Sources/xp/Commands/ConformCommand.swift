import ArgumentParser
import ConformanceKit
import ConformanceStages
import ConformanceSubjects
import Experimentation
import Foundation

/// The command `xp conform`.
struct ConformCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conform",
        abstract: "Run the conformance suite: does an adapter keep its promises?",
        discussion: """
            Fails if a promise is broken, a recorded deviation no longer occurs, a
            capability works but isn't declared, or no case passed for a declared one.

            EXAMPLES
              xp conform
              xp conform --vendor flagship --case 'delivery/*'
              xp conform --list
              xp conform --format junit --output conformance.xml
              xp conform --report conformance.xml --report conformance.html
              xp conform --config flagship.json --live
              xp conform --subject http://127.0.0.1:8080/
              xp conform --subject http://127.0.0.1:8080/ --record later.txt
              xp conform --subject http://127.0.0.1:8080/ --skip-from later.txt
              xp conform --subject 'sigma>flagship-bucketing@live'
              xp conform --subject moves --case 'migration/*'
              xp conform --vendor sigma+evergage --case 'composition/*'
              OFREP_TOKEN=... xp conform --ofrep https://flags.example.com/ \\
                --declaration server.json
            """
    )

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json, junit, markdown, html

        /// The ending of a file in this format.
        var ending: String {
            switch self {
            case .text: "txt"
            case .json: "json"
            case .junit: "xml"
            case .markdown: "md"
            case .html: "html"
            }
        }
    }

    /// A further file for the report.
    struct ReportFile {
        let path: String
        let format: Format

        init(_ path: String) throws {
            guard let format = Format.allCases.first(where: { path.lowercased().hasSuffix("." + $0.ending) }) else {
                let endings = Format.allCases.map { "." + $0.ending }.joined(separator: ", ")
                throw ValidationError("a report's file ends in one of \(endings)")
            }
            (self.path, self.format) = (path, format)
        }
    }

    enum Store: String, ExpressibleByArgument, CaseIterable { case mixed, memory, sqlite }

    @Option(
        name: .customLong("vendor"),
        help: ArgumentHelp("A vendor to check; all by default.", valueName: "name")
    )
    var vendors: [String] = []

    @Option(
        name: .customLong("case"),
        help: ArgumentHelp("A case's name; * matches any text. All by default.", valueName: "glob")
    )
    var cases: [String] = []

    @Flag(help: "List the cases instead of running them.")
    var list = false

    @Option(help: ArgumentHelp("The vendor and its settings, for --live.", valueName: "file"))
    var config: String?

    @Flag(help: "Run the read-only cases against the vendor that --config names.")
    var live = false

    @Option(
        help: ArgumentHelp(
            "In place of the vendors: the endpoint of an adapter in another process, or a move at one of its stages, as flagship-bucketing>sigma@live; moves for all of them.",
            valueName: "url|move"
        )
    )
    var subject: String?

    @Option(
        help: ArgumentHelp(
            "Where events and decisions are stored: in memory, in SQLite files, or, by default, in files for the cases about restarts."
        )
    )
    var store: Store?

    @Option(help: ArgumentHelp("The file for a badge of one adapter, as SVG.", valueName: "file"))
    var badge: String?

    @Option(help: ArgumentHelp("The file for a list of failed cases, for --skip-from.", valueName: "file"))
    var record: String?

    @Option(
        name: .customLong("skip-from"),
        help: ArgumentHelp("A list of cases to leave out, as --record writes it.", valueName: "file")
    )
    var skipFrom: String?

    @Option(
        name: .customLong("ofrep"),
        help: ArgumentHelp(
            "A server that speaks OFREP, to test over the wire in place of the vendors.",
            valueName: "url"
        )
    )
    var server: String?

    @Option(help: "The token for --ofrep; by default the environment variable OFREP_TOKEN.")
    var token: String?

    @Option(
        help: ArgumentHelp("The server's features that can't be found out by asking, for --ofrep.", valueName: "file")
    )
    var declaration: String?

    @Option(help: "The output format.")
    var format: Format = .text

    @Option(help: ArgumentHelp("The report's file; standard output by default.", valueName: "file"))
    var output: String?

    @Option(
        name: .customLong("report"),
        help: ArgumentHelp(
            "A further file for the report, in the format of its ending: txt, json, xml (JUnit), md or html.",
            valueName: "file"
        ),
        transform: { try ReportFile($0) }
    )
    var reports: [ReportFile] = []

    func validate() throws {
        guard live == (config != nil) else { throw ValidationError("--config and --live belong together") }
        guard !live || vendors.isEmpty else { throw ValidationError("--vendor and --live exclude each other") }
        guard subject == nil || (!live && vendors.isEmpty) else {
            throw ValidationError("--subject excludes --vendor and --live")
        }
        guard server != nil || (token == nil && declaration == nil) else {
            throw ValidationError("--token and --declaration belong to --ofrep")
        }
        guard server == nil || (subject == nil && !live && vendors.isEmpty) else {
            throw ValidationError("--ofrep excludes --subject, --vendor and --live")
        }
        guard server == nil || Set([format] + reports.map(\.format)).isSubset(of: [.text, .json, .junit]) else {
            throw ValidationError("--ofrep writes text, json and junit")
        }
        guard !list || [.text, .json].contains(format) else { throw ValidationError("--list writes text and json") }
        guard !list || reports.isEmpty else { throw ValidationError("--list and --report exclude each other") }
        let given = [
            ("record", record != nil), ("badge", badge != nil), ("store", store != nil), ("skip-from", skipFrom != nil),
        ]
        for (name, isGiven) in given where isGiven && (server != nil || list) {
            throw ValidationError("--\(server == nil ? "list" : "ofrep") excludes --\(name)")
        }
    }

    func run() async throws {
        if let server { return try await check(server) }
        let chosen = try chosenCases()
        try OutputFile.expectWritable(output)
        try OutputFile.expectWritable(record)
        try OutputFile.expectWritable(badge)
        for report in reports { try OutputFile.expectWritable(report.path) }
        if list { return try OutputFile.deliver(listing(chosen), to: output) }
        let skipping = try skipFrom.map(Self.caseList) ?? CaseList()
        let subjects = try await chosenSubjects()
        if badge != nil, subjects.count != 1 {
            throw Failure(.usage, "a badge is of one adapter; name it with --vendor or --subject")
        }
        let total = subjects.map { ConformanceRunner.cases(chosen, for: $0).count }.reduce(0, +)
        guard total > 0 else {
            let names = subjects.map(\.name).joined(separator: ", ")
            throw Failure(
                .usage,
                "none of these cases is about \(names); those about several vendors, a move or a whole SDK need one"
            )
        }
        let done = Tally()
        let files = StoreFiles()
        let ending = await EndingWork { files.removeAfterwards() }
        defer {
            withExtendedLifetime(ending) {}
            files.remove()
        }
        // Cases mostly wait; an adapter in another process, or a vendor, isn't asked for more than usual at once.
        let width = subjects.contains { $0 is RemoteSubject || $0 is LiveSubject } ? 4 : 8
        let runner = ConformanceRunner(width: width, skipping: skipping, stores: stores(in: files))
        let report = await runner.run(chosen, against: subjects) { subject, result in
            Terminal.progress("\(done.next()) of \(total): \(subject) \(result.name)")
        }
        Terminal.endProgress()
        if !report.isSuccess, runner.stores != nil { try files.expectRoom() }
        try OutputFile.deliver(text(of: report, as: format), to: output)
        for file in reports { try OutputFile.deliver(text(of: report, as: file.format), to: file.path) }
        if let badge, let subject = report.subjects.first { try OutputFile.deliver(subject.badge(), to: badge) }
        if let record { try OutputFile.deliver(report.record, to: record) }
        if !report.isSuccess { throw ExitCode(1) }
    }

    private static func caseList(_ path: String) throws -> CaseList {
        let text = String(decoding: try InputFile.bytes(of: path), as: UTF8.self)
        do { return try CaseList(parsing: text) } catch {
            throw Failure(.input, "\(path): \(error.path): \(error.problem)")
        }
    }

    private func stores(in files: StoreFiles) -> CaseStores? {
        switch store ?? .mixed {
        case .memory: nil
        case .sqlite: { try await files.open($0.id) }
        case .mixed: { $0.conformanceCase.isAboutRestarts ? try await files.open($0.id) : nil }
        }
    }

    private func chosenCases() throws -> [ConformanceCase] {
        let all = live ? ConformanceCase.live : ConformanceCase.every
        guard !cases.isEmpty else { return all }
        for pattern in cases where !all.contains(where: { $0.matches(pattern) }) {
            throw Failure(.usage, "there is no case \"\(pattern)\"; xp conform --list names them")
        }
        return all.filter { candidate in cases.contains { candidate.matches($0) } }
    }

    private func chosenSubjects() async throws -> [any ConformanceSubject] {
        if let config {
            let configuration = try Configuration(at: config)
            let subject = try LiveSubject(configuration.vendor) { try configuration.provider() }
            do { try await subject.reach() } catch let error as ExperimentationError { throw Failure(error) }
            return [subject]
        }
        if subject == "moves" { return MigratingSubject.all }
        if let subject, let move = MigratingSubject.all.first(where: { $0.name == subject }) { return [move] }
        if let subject, subject.contains(">"), !subject.contains("://") {
            let known = MigratingSubject.all.map(\.name).joined(separator: ", ")
            throw Failure(.usage, "there is no move \"\(subject)\"; expected one of \(known)")
        }
        if let subject {
            do { return [try await RemoteSubject.connect(to: subject)] } catch let error as ExperimentationError
                where error.code == .configuration
            {
                throw Failure("--subject", subject, error)
            } catch {
                throw Failure(.unavailable, "\(subject): \(error)")
            }
        }
        return try Chosen.subjects(vendors.once, orElse: Vendor.conforming + MigratingSubject.one)
    }

    private func listing(_ cases: [ConformanceCase]) -> String {
        guard format == .json else {
            return cases.map { "\($0.name)  \($0.summary)\n" }.joined()
        }
        return JSONLine.pretty([
            "cases": .array(
                cases.map { item in
                    [
                        "name": .string(item.name), "promise": .int(item.promise), "summary": .string(item.summary),
                        "requires": .array(item.requires.map(\.rawValue).sorted().map { .string($0) }),
                        "live": .bool(item.isSafeLive),
                    ]
                }
            )
        ])
    }

    private func text(of report: ConformanceReport, as format: Format) throws -> String {
        switch format {
        case .text: report.text()
        case .json: String(decoding: try report.json(), as: UTF8.self) + "\n"
        case .junit: report.junit()
        case .markdown: report.markdown()
        case .html: report.html()
        }
    }
}

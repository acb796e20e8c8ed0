import ArgumentParser
import ConformanceSubjects
import Experimentation
import FlagManifest
import Synchronization

/// The command `xp flags`.
struct FlagsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flags",
        abstract: "Keep an application's flags in a manifest: generate typed keys for Swift, and compare with vendors.",
        discussion: """
            A manifest has the format of the OpenFeature command line:
              {"flags":{"btnColor":{"flagType":"string","defaultValue":"red"}}}

            EXAMPLES
              xp flags pull --config sigma.yaml --output flags.json
              xp flags generate --manifest flags.json --output Flags.swift
              xp flags check --manifest flags.json --config flagship.json
              xp flags compare before.json after.json
            """,
        subcommands: [Generate.self, Check.self, Pull.self, Compare.self]
    )

    /// Reads a manifest.
    static func manifest(at path: String) throws -> FlagManifest {
        do throws(ExperimentationError) {
            return try FlagManifest(json: InputFile.checked(path), file: path)
        } catch {
            throw Failure(error)
        }
    }

    /// Returns the flags that a vendor publishes, and reports what can't be read of them.
    static func published(by configuration: Configuration) async throws -> PublishedFlags {
        let warnings = Warnings()
        let client = try await configuration.client(store: .inMemory(), log: warnings)
        do throws(ExperimentationError) {
            let decisions = try await client.decisions(for: User(id: "xp-flags"))
            guard client.status != .disabled else {
                throw ExperimentationError(.disabled, "the vendor's kill switch is on, so its flags can't be seen")
            }
            let published = PublishedFlags(decisions.decisions)
            await client.shutdown(within: .milliseconds(100))
            let flags = published.unreadable.sorted { $0.key < $1.key }
            for line in warnings.messages + flags.map({ "the flag \"\($0)\" has no value that can be read: \($1)" }) {
                Terminal.say("xp: \(configuration.vendor.name): \(line)")
            }
            return published
        } catch {
            await client.shutdown(within: .milliseconds(100))
            throw Failure(error)
        }
    }
}

/// Keeps an adapter's warnings.
private final class Warnings: LogSink {
    let level = LogLevel.warning
    private let kept = Mutex<[String]>([])

    var messages: [String] { kept.withLock { $0 } }

    func log(_ entry: LogEntry) { kept.withLock { $0.append(entry.message) } }
}

extension InputFile {
    /// Returns a file's bytes, with failures as `ExperimentationError`.
    fileprivate static func checked(_ path: String) throws(ExperimentationError) -> [UInt8] {
        do {
            return try bytes(of: path)
        } catch let failure as Failure {
            throw ExperimentationError(.configuration, failure.message)
        } catch {
            throw ExperimentationError(.configuration, "\(path): can't be read")
        }
    }
}

extension FlagsCommand {
    /// `xp flags generate`.
    struct Generate: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write the typed keys of a manifest as Swift; an unchanged file isn't touched."
        )

        @Option(help: ArgumentHelp("The manifest.", valueName: "file"))
        var manifest: String = "flags.json"

        @Option(help: ArgumentHelp("The output file; standard output by default.", valueName: "file"))
        var output: String?

        @Option(help: ArgumentHelp("The name of the enclosing type.", valueName: "type"))
        var name: String = "Flags"

        @Option(help: "The access level of the keys.")
        var access: FlagKeySource.Access = .internal

        func validate() throws {
            guard FlagKeySource.accepts(name: name) else {
                throw ValidationError("--name: expected a type name, no keyword and no name in use such as String")
            }
        }

        func run() throws {
            try OutputFile.expectWritable(output)
            let source: String
            do throws(ExperimentationError) {
                let flags = try FlagManifest(json: InputFile.checked(manifest), file: manifest)
                let file = String(manifest.split(separator: "/").last ?? "flags.json")
                source = try FlagKeySource.text(of: flags, file: file, name: name, access: access)
            } catch {
                throw Failure(error)
            }
            if let output, (try? InputFile.bytes(of: output)) == Array(source.utf8) { return }
            try OutputFile.deliver(source, to: output)
        }
    }

    /// `xp flags check`.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Compare a manifest with the flags that a vendor publishes; status 1 if they disagree.",
            discussion: """
                missing  the vendor doesn't have the flag: readers get the default
                stale    the vendor has a flag that the manifest doesn't have
                type     the vendor's values have another type, or don't fit the schema
                default  the manifest's default is none of the vendor's values

                A vendor that decides for each user shows one user's flags; one that publishes its rules shows all.
                """
        )

        @Option(help: ArgumentHelp("The manifest.", valueName: "file"))
        var manifest: String = "flags.json"

        @Option(help: ArgumentHelp("The vendor and its settings, JSON or YAML.", valueName: "file"))
        var config: String

        @Option(help: "The output format.")
        var format: FindingTable.Format = .text

        func run() async throws {
            let manifest = try FlagsCommand.manifest(at: manifest)
            let configuration = try Configuration(at: config)
            let findings = manifest.findings(against: try await FlagsCommand.published(by: configuration))
            let table = FindingTable(
                title: "Flags of \(configuration.vendor.name)",
                columns: ["flag", "what", "detail"],
                rows: findings.map { [$0.key, $0.kind.rawValue, $0.detail] },
                document: [
                    "vendor": .string(configuration.vendor.name),
                    "findings": .array(
                        findings.map {
                            [
                                "flag": .string($0.key), "kind": .string($0.kind.rawValue),
                                "detail": .string($0.detail),
                            ]
                        }
                    ),
                ]
            )
            try Terminal.write(table.text(as: format))
            if !findings.isEmpty {
                let count = findings.count == 1 ? "1 finding" : "\(findings.count) findings"
                throw Failure(.checkFailed, "\(self.manifest) and \(configuration.vendor.name) don't agree: \(count)")
            }
        }
    }

    /// `xp flags pull`.
    struct Pull: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Write a manifest of a vendor's flags, to correct by hand: defaults are the vendor's first values."
        )

        @Option(help: ArgumentHelp("The vendor and its settings, JSON or YAML.", valueName: "file"))
        var config: String

        @Option(help: ArgumentHelp("The output file; standard output by default.", valueName: "file"))
        var output: String?

        func run() async throws {
            try OutputFile.expectWritable(output)
            let published = try await FlagsCommand.published(by: Configuration(at: config))
            try OutputFile.deliver(JSONLine.pretty(published.manifest.json), to: output)
        }
    }

    /// `xp flags compare`.
    struct Compare: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the differences between two manifests; status 1 if there are any."
        )

        @Argument(help: ArgumentHelp("The manifest before.", valueName: "before"))
        var old: String

        @Argument(help: ArgumentHelp("The manifest after.", valueName: "after"))
        var new: String

        @Option(help: "The output format.")
        var format: FindingTable.Format = .text

        func run() throws {
            let changes = try FlagsCommand.manifest(at: old).changes(to: FlagsCommand.manifest(at: new))
            let table = FindingTable(
                title: "Changes of flags",
                columns: ["flag", "change", "before", "after"],
                rows: changes.map { change in
                    [change.key, change.kind.rawValue, change.summary(of: change.old), change.summary(of: change.new)]
                },
                document: [
                    "changes": .array(
                        changes.map {
                            [
                                "type": .string($0.kind.rawValue), "path": .string("flags.\($0.key)"),
                                "oldValue": $0.old?.document ?? .null, "newValue": $0.new?.document ?? .null,
                            ]
                        }
                    )
                ]
            )
            try Terminal.write(table.text(as: format))
            if !changes.isEmpty {
                let count = changes.count == 1 ? "1 flag differs" : "\(changes.count) flags differ"
                throw Failure(.checkFailed, count)
            }
        }
    }
}

extension FlagKeySource.Access: ExpressibleByArgument {}

extension ManifestChange {
    /// One side for a table cell: type and default, or what else differs where these are the same.
    fileprivate func summary(of flag: FlagManifest.Flag?) -> String {
        guard let flag else { return "–" }
        let members = flag.document.objectValue ?? [:]
        guard !properties.isEmpty, !properties.contains("flagType"), !properties.contains("defaultValue") else {
            return "\(flag.type.rawValue) \(JSONLine.text(flag.defaultValue))"
        }
        return properties.map { name in members[name].map { "\(name) \(JSONLine.text($0))" } ?? "no \(name)" }
            .joined(separator: ", ")
    }
}

import Foundation
import Testing
import Waiting

@Suite("xp conform")
struct ConformTests {
    @Test("the list of cases follows its schema")
    func cases() async throws {
        let result = try await Tool.run(["conform", "--list", "--format", "json"])
        #expect(result.status == 0)
        let document = try JSONValue(result.output)
        #expect(try JSONSchema(named: "cases").problems(of: document) == [])
        #expect((document["cases"]?.array?.count ?? 0) >= 150)
    }

    @Test("a report follows its schema and lists every requested case")
    func conform() async throws {
        let result = try await Tool.run([
            "conform", "--vendor", "in-memory", "--case", "evaluation/*", "--format", "json",
        ])
        #expect(result.status == 0)
        let document = try JSONValue(result.output)
        #expect(try JSONSchema(named: "conformance-report").problems(of: document) == [])
        let listed = try await Tool.run(["conform", "--list", "--case", "evaluation/*", "--format", "json"])
        let names = try JSONValue(listed.output)["cases"]?.array?.compactMap { $0["name"]?.string }
        let reported = document["subjects"]?[0]?["cases"]?.array?.compactMap { $0["name"]?.string }
        #expect(names?.isEmpty == false)
        #expect(reported == names)
    }

    @Test("a vendor that is named twice is checked once")
    func namedTwice() async throws {
        let base = ["conform", "--case", "evaluation/boolean-values", "--format", "json"]
        let result = try await Tool.run(base + ["--vendor", "in-memory", "--vendor", "in-memory"])
        #expect(result.status == 0)
        #expect(try JSONValue(result.output)["subjects"]?.array?.count == 1)
    }

    @Test("the whole suite passes for every subject, and the report follows its schema")
    func wholeSuite() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let text = folder.appending(path: "report.txt").path
        let start = ContinuousClock.now
        let result = try await Tool.run(["conform", "--format", "json", "--report", text], limit: 1_200)
        let took = start.duration(to: .now)
        if isSoak { #expect(took < .seconds(60), "\(took)") }
        let document = try JSONValue(result.output)
        #expect(try JSONSchema(named: "conformance-report").problems(of: document) == [])
        let named = Self.names(in: try String(contentsOfFile: text, encoding: .utf8))
        let subjects = try #require(document["subjects"]?.array)
        #expect(
            subjects.compactMap { $0["name"]?.string } == [
                "flagship", "flagship-bucketing", "sigma", "engage", "evergage", "ofrep", "ofrep-events",
                "ofrep-tracking", "in-memory", "file", "webhook", "sigma+evergage", "flagship+engage+file@file",
                "flagship-bucketing+sigma", "sigma>flagship-bucketing@live",
            ]
        )
        for subject in subjects {
            let cases = try #require(subject["cases"]?.array)
            #expect(cases.count >= 150)
            let bad = cases.filter { !["passed", "unsupported", "deviates"].contains($0["outcome"]?.string) }
            #expect(
                bad.map { "\($0["name"]?.string ?? "?"): \($0["reason"]?.string ?? "?")" } == [],
                "\(subject["name"]?.string ?? "?")"
            )
            let silent = cases.filter { $0["outcome"]?.string != "passed" && ($0["reason"]?.string ?? "").isEmpty }
            #expect(silent.isEmpty, "whatever isn't passed has a reason")
            #expect(try #require(named[subject["name"]?.string ?? ""]) == cases.compactMap { $0["name"]?.string })
        }
        #expect(result.status == 0)
    }

    /// The names of the cases in a text report, by subject.
    private static func names(in report: String) -> [String: [String]] {
        var names: [String: [String]] = [:]
        var subject = ""
        for line in report.split(separator: "\n") {
            if !line.hasPrefix(" ") {
                subject = String(line.prefix { $0 != ":" })
            } else if let name = line.split(separator: " ").dropFirst().first, name.contains("/") {
                names[subject, default: []].append(String(name))
            }
        }
        return names
    }

    @Test("one run writes a report in each format, and an unknown file extension is refused before the run")
    func reports() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String) -> String { folder.appending(path: name).path }
        let names = ["report.txt", "report.json", "report.xml", "report.md", "report.HTML"]
        let base = ["conform", "--vendor", "in-memory", "--case", "evaluation/boolean-values"]
        let result = try await Tool.run(base + names.flatMap { ["--report", file($0)] })
        #expect(result.status == 0, "\(result.errors)")
        let texts = try names.map { try String(contentsOfFile: file($0), encoding: .utf8) }
        #expect(texts[0] == result.output)
        #expect(try JSONSchema(named: "conformance-report").problems(of: try JSONValue(texts[1])) == [])
        let beginnings = ["in-memory:", "{", "<?xml", "#", "<!DOCTYPE html>"]
        for (text, beginning) in zip(texts, beginnings) {
            #expect(text.hasPrefix(beginning), "\(text.prefix(40))")
            #expect(text.contains("evaluation/boolean-values"))
        }

        let wrong = try await Tool.run(base + ["--report", file("report.pdf")])
        #expect(wrong.status == 64)
        #expect(wrong.errors.contains("a report's file ends in one of .txt, .json, .xml, .md, .html"))
        let nowhere = try await Tool.run(base + ["--report", file("no/such/report.txt")])
        #expect(nowhere.status == 66)
        #expect(nowhere.output == "")
        #expect(try await Tool.run(base + ["--list", "--report", file("list.txt")]).status == 64)
        let ofrep = ["conform", "--ofrep", "http://127.0.0.1:1", "--report", file("report.html")]
        #expect(try await Tool.run(ofrep).status == 64)
    }

    @Test("a server that speaks OFREP is tested over the wire, and the reports follow their schemas")
    func server() async throws {
        let mock = try await ServedMock("ofrep")
        let token = try #require(mock.head["credentials"]?["token"]?.string)
        let base = ["conform", "--ofrep", mock.url, "--token", token]
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let text = folder.appending(path: "report.txt").path
        let good = try await Tool.run(
            base + ["--case", "tags/*", "--case", "single/*", "--format", "json", "--report", text]
        )
        #expect(good.status == 0, "\(good.output)")
        #expect(try String(contentsOfFile: text, encoding: .utf8).contains("passed   tags/"))
        let document = try JSONValue(good.output)
        #expect(try JSONSchema(named: "ofrep-server-report").problems(of: document) == [])
        #expect(!good.output.contains(token))
        let stranger = try await Tool.run(["conform", "--ofrep", mock.url, "--case", "bulk/answers"])
        #expect(stranger.status == 1)
        #expect(stranger.output.contains("failed   bulk/answers"))
        _ = try await mock.end()
        #expect(try await Tool.run(["conform", "--ofrep", "http://127.0.0.1:1"]).status == 69)
        #expect(try await Tool.run(["conform", "--ofrep", "http://example.com"]).status == 64)
        #expect(try await Tool.run(["conform", "--ofrep", "http://127.0.0.1:1", "--case", "no/such"]).status == 64)
        #expect(try await Tool.run(["conform", "--token", "x"]).status == 64)
        let list = try await Tool.run(["conform", "--ofrep", "http://127.0.0.1:1", "--list"])
        #expect(list.output.split(separator: "\n").count >= 80)
    }

    @Test("an adapter in another process is tested with --subject, in every format")
    func subject() async throws {
        let (service, url) = try await Self.service()
        for format in ["text", "json", "junit", "markdown", "html"] {
            let result = try await Tool.run([
                "conform", "--subject", url, "--case", "evaluation/*", "--format", format,
            ])
            #expect(result.status == 0, "\(format): \(result.errors)")
            #expect(result.output.contains("python-example"), "\(format)")
            #expect(!result.output.contains("in-memory"), "\(format): in place of the vendors")
        }
        let whole = try await Tool.run(["conform", "--subject", url, "--store", "memory"], limit: 600)
        #expect(whole.status == 0)
        #expect(whole.lines.contains("  version 1.0.0, declares 15, verified 15"))
        #expect(whole.lines.last == "Every declared promise is kept.")
        let others = try await Tool.run(["conform", "--subject", url, "--case", "sdk/*"])
        #expect(others.status == 64)
        #expect(others.complaint.hasPrefix("xp: none of these cases is about python-example"), "\(others.errors)")
        let some = try await Tool.run([
            "conform", "--subject", url, "--case", "evaluation/boolean-values", "--case", "migration/*",
        ])
        #expect(some.status == 0, "\(some.errors)")
        service.terminate()
    }

    @Test(
        "a run in which no case is about the subject is rejected",
        arguments: ["composition/*", "migration/*", "sdk/*"]
    )
    func nothing(_ pattern: String) async throws {
        let result = try await Tool.run(["conform", "--vendor", "in-memory", "--case", pattern])
        #expect(result.status == 64)
        #expect(result.complaint.hasPrefix("xp: none of these cases is about in-memory"), "\(result.errors)")
    }

    @Test("an adapter in another process that breaks a promise ends the run with status 1, the case and its story")
    func brokenSubject() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        // This one mistakes a 503 for a final rejection.
        let script = try String(contentsOf: Self.example, encoding: .utf8)
        let broken = script.replacing(
            #"{"verdict": "outage"} |"#,
            with: #"{"verdict": "rejected", "reason": "gone"} |"#
        )
        #expect(broken != script)
        let (service, url) = try await Self.service(try Tool.file(broken, "broken.py", in: folder))
        let result = try await Tool.run(["conform", "--subject", url, "--case", "outages/not-delivered-by-a-50*"])
        #expect(result.status == 1)
        #expect(result.output.contains("  failed      outages/not-delivered-by-a-500  what waits: expected 2, saw 0"))
        #expect(result.output.contains("        1. CALL /events → 500 (status)"))
        #expect(result.lines.last == "A promise is broken.")
        service.terminate()
    }

    @Test("a whole SDK in another process gets its own cases, and failures can be excluded")
    func wholeSDK() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let examples = Self.example.deletingLastPathComponent()
        let (service, url) = try await Self.service(examples.appending(path: "sdk_service.py").path)
        let result = try await Tool.run(["conform", "--subject", url, "--format", "json"])
        #expect(result.status == 0, "\(result.errors)")
        let names = try JSONValue(result.output)["subjects"]?.array?.first?["cases"]?.array?.compactMap {
            $0["name"]?.string
        }
        #expect(names?.count == 26 && names?.allSatisfy { $0.hasPrefix("sdk/") } == true)
        let list = try Tool.file("python-sdk sdk/order\n", "later.txt", in: folder)
        let rest = try await Tool.run(["conform", "--subject", url, "--case", "sdk/o*", "--skip-from", list])
        #expect(rest.status == 0 && rest.output.contains("left out on request: sdk/order\n"), "\(rest.output)")
        let other = try await Tool.run(["conform", "--subject", url, "--case", "evaluation/*"])
        #expect(other.status == 64)
        service.terminate()
    }

    @Test("failures are recorded and excluded on request, and a badge counts declared and verified capabilities")
    func underConstruction() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = try String(contentsOf: Self.example, encoding: .utf8)
        let broken = script.replacing(
            #"{"verdict": "outage"} |"#,
            with: #"{"verdict": "rejected", "reason": "gone"} |"#
        )
        let (service, url) = try await Self.service(try Tool.file(broken, "broken.py", in: folder))
        let list = folder.appending(path: "later.txt").path
        let badge = folder.appending(path: "badge.svg").path
        let arguments = ["conform", "--subject", url, "--case", "outages/not-delivered-by-a-*"]
        let first = try await Tool.run(arguments + ["--record", list, "--badge", badge])
        #expect(first.status == 1)
        let recorded = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n")
        #expect(recorded.count >= 2)
        #expect(recorded.contains { $0.hasPrefix("python-example outages/not-delivered-by-a-500  # what waits") })
        let picture = try String(contentsOfFile: badge, encoding: .utf8)
        #expect(picture.contains("<title>python-example: declares 15, verified 0</title>"))
        let again = try await Tool.run(arguments + ["--skip-from", list])
        #expect(again.status == 0, "\(again.output)")
        let names = recorded.compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) }
        #expect(again.lines.contains("  left out on request: \(names.joined(separator: ", "))"))
        #expect(!again.lines.contains { $0.hasPrefix("  passed      ") && $0.contains("not-delivered-by-a-500") })
        let nonsense = try Tool.file("python-example no/such-case", "nonsense.txt", in: folder)
        let refused = try await Tool.run(arguments + ["--skip-from", nonsense])
        #expect(refused.status == 66)
        #expect(refused.complaint.hasSuffix("line 1: there is no case \"no/such-case\""))
        let several = try await Tool.run(["conform", "--case", "types/*", "--badge", badge])
        #expect(several.status == 64)
        service.terminate()
    }

    @Test("cases about restarts use files, all cases do on request, and no file is left behind")
    func stores() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let arguments = ["conform", "--vendor", "in-memory", "--case", "delivery/survives-a-kill", "--case", "types/*"]
        for store in [[], ["--store", "memory"], ["--store", "sqlite"]] {
            let result = try await Tool.run(arguments + store, environment: ["TMPDIR": folder.path])
            #expect(result.status == 0, "\(store): \(result.output)")
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(left.filter { $0.hasPrefix("xp-conform-") } == [])
    }

    @Test("a missing or invalid subject has status 69 and one line")
    func nobody() async throws {
        let result = try await Tool.run(["conform", "--subject", "http://127.0.0.1:9/"])
        #expect(result.status == 69)
        #expect(result.complaint.hasPrefix("xp: http://127.0.0.1:9/: "))
        #expect(result.errors.split(separator: "\n").count == 1)
        let mock = try Running(["mock", "sigma"])
        let url = try #require(try JSONValue(try await mock.firstLine())["url"]?.string)
        let other = try await Tool.run(["conform", "--subject", url])
        #expect(other.status == 69)
        #expect(other.complaint.hasPrefix("xp: \(url): "), "\(other.errors)")
        mock.terminate()
    }

    private static let example = Tool.root.appending(path: "docs/examples/subject_service.py")

    /// Starts the guide's example, or another one, and waits until it listens.
    private static func service(_ path: String = example.path) async throws -> (running: Running, url: String) {
        let running = try Running(["python3", path], executable: URL(filePath: "/usr/bin/env"), holdsInput: true)
        let url = try #require(try JSONValue(try await running.firstLine())["url"]?.string)
        return (running, url)
    }
}

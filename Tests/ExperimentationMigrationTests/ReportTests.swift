import Experimentation
import ExperimentationMigration
import ExperimentationTesting
import Testing

@Suite("The report of a move")
struct ReportTests {
    @Test("a listener gets the current report, one with each change of stage, one on request, and then the end")
    func stream() async throws {
        let moves = Moves()
        let client = try await moves.client()
        let migration = try Moves.migration(of: client)
        var reports = migration.reports().makeAsyncIterator()
        #expect(await reports.next() == migration.report)
        try await migration.move(to: .dualWrite)
        #expect(await reports.next()?.stage == .dualWrite)
        _ = try await Moves.color("ada", by: client)
        // A delivery counts its exposures, which would be in the later of two reports.
        _ = try await client.flush()
        migration.announce()
        #expect(await reports.next() == migration.report)
        await client.shutdown(within: .zero)
        while let last = await reports.next() { #expect(last.stage == .dualWrite) }
    }

    @Test("reports of a client have the ledgers of its destinations")
    func ledgers() async throws {
        let moves = Moves()
        let client = try await moves.client { $0.stage = .dualWrite }
        let migration = try Moves.migration(of: client)
        for number in 0..<3 { _ = try await Moves.color("user-\(number)", by: client) }
        _ = try await client.flush()
        let ledgers = try await client.ledgers()
        #expect(ledgers.count == 2)
        #expect(try await migration.report(of: client).ledgers == ledgers)
        #expect(migration.report.ledgers == [:])
        for await report in migration.reports(of: client) {
            #expect(report.ledgers == ledgers)
            break
        }
        await client.shutdown(within: .zero)
    }

    @Test("a listener who comes after the shutdown gets the last report, and then the end", .timeLimit(.minutes(10)))
    func afterTheEnd() async throws {
        let moves = Moves()
        let client = try await moves.client { $0.stage = .dualWrite }
        let migration = try Moves.migration(of: client)
        await client.shutdown(within: .zero)
        var stages: [MigrationStage] = []
        for await report in migration.reports() { stages.append(report.stage) }
        #expect(stages == [.dualWrite])
    }

    @Test("the page shows stage, sides, ledgers, ratios by stage and mismatches, and escapes what vendors say")
    func page() async throws {
        let moves = Moves()
        let client = try await moves.client { plan in
            plan.stage = .dualWrite
            plan.share = 0.5
        }
        let migration = try Moves.migration(of: client)
        for number in 0..<20 { _ = try await Moves.color("user-\(number)", by: client) }
        _ = try await client.flush()
        var report = try await migration.report(of: client)
        report.held = ["<script>alert('1')</script>", "back\u{202E}wards"]
        report.recent = [
            Mismatch(
                key: "a&b",
                type: "string",
                kind: .value,
                leader: .old,
                old: Mismatch.Answer(Resolution("<b>", variant: "grey"), latency: .milliseconds(3), version: "7"),
                new: Mismatch.Answer(failure: .timeout, latency: .milliseconds(250)),
                user: "0123abcd"
            )
        ]
        let page = report.page(from: "old", to: "\"new\"")
        for part in [
            "<!DOCTYPE html>", "<h1>Moving from old to &quot;new&quot;</h1>", "Stage dualWrite:",
            "<li>&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;</li>", "<li>back\u{FFFD}wards</li>",
            "<th scope=\"row\">a&amp;b</th><td>value</td>",
            "&quot;&lt;b&gt;&quot; (grey), 3.0 ms, version 7", "TIMEOUT, 250.0 ms", "0123abcd",
            "<th scope=\"row\">dualWrite</th><td>e0</td><td>exposures</td>", "<td>20</td>",
        ] {
            #expect(page.contains(part), "\(part)")
        }
        #expect(!page.contains("<script") && !page.contains("http"))
        await client.shutdown(within: .zero)
    }
}

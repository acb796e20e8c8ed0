import ConformanceKit
import Testing

@Suite("Lists of cases")
struct CaseListTests {
    @Test(
        "a recorded list names the same cases, whatever the subject is called",
        arguments: ["lantern", "my adapter", " my  adapter\n2", "c#-adapter", "größe\u{202E}"]
    )
    func recorded(_ name: String) throws {
        func result(_ name: String, _ outcome: Outcome) -> CaseResult {
            CaseResult(name: name, promise: 1, summary: "", outcome: outcome, duration: .zero)
        }
        var subject = ConformanceReport.Subject(
            name: name,
            capabilities: [],
            results: [
                result("events/custom", .failed([Failure("it # is\nlost", file: "a", line: 1)])),
                result("events/purchase", .passed),
            ]
        )
        subject.skipped = ["events/review"]
        let list = try CaseList(parsing: ConformanceReport(subjects: [subject]).record)
        #expect(list.count == 2)
        let listed = ["custom", "purchase", "review"].filter { list.contains("events/\($0)", of: name) }
        #expect(listed == ["custom", "review"])
        #expect(!list.contains("events/custom", of: name + " too"))
    }
}

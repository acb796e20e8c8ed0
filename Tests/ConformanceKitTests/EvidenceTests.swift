import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import Testing

@Suite("Evidence for capabilities")
struct EvidenceTests {
    private static let vendors = AllSubjects.all.filter { $0.name != "in-memory" }

    @Test("every vendor's subject has evidence for each declared capability, and for no other")
    func capabilities() {
        for subject in Self.vendors {
            let said = Set(subject.evidence.capabilities.keys)
            #expect(Set(subject.capabilities.map(\.rawValue)).subtracting(said) == [], "\(subject.name)")
        }
        for vendor in Vendor.all {
            let declared = vendor.subjects.reduce(into: Set<String>()) { $0.formUnion($1.capabilities.map(\.rawValue)) }
            let said = vendor.subjects.reduce(into: Set<String>()) { $0.formUnion($1.evidence.capabilities.keys) }
            #expect(said == declared, "\(vendor.name)")
        }
    }

    @Test("every vendor's mock lists what is inferred")
    func rules() {
        for subject in Self.vendors { #expect(!subject.evidence.inferences.isEmpty, "\(subject.name)") }
    }

    @Test(
        "every sample has a source, and every listed sample exists",
        arguments: Vendor.all.map(\.name)
    )
    func fixtures(vendor: String) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folders = try FileManager.default.contentsOfDirectory(atPath: root.path + "/Conformance/Fixtures")
        let folder = try #require(folders.first { $0.lowercased() == vendor })
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(root.path)/Conformance/Fixtures/\(folder)")
        let evidence = try #require(Vendor.named(vendor)?.subjects.first).evidence
        #expect(evidence.fixtures.map(\.file).sorted() == files.filter { $0 != "README.md" }.sorted())
        #expect(evidence.fixtures.filter { $0.source.isEmpty } == [])
    }

    @Test("a pass that rests on inference is marked in every report")
    func inferred() {
        let name = "experiments/both-halves-are-used"
        let result = CaseResult(
            name: name,
            promise: 8,
            summary: "halves",
            outcome: .passed,
            duration: .zero
        )
        var subject = ConformanceReport.Subject(name: "one", capabilities: [.experiments], results: [result])
        let sure = ConformanceReport(subjects: [subject])
        subject.evidence = Evidence([.experiments: .inferred])
        let unsure = ConformanceReport(subjects: [subject])
        #expect(sure.text().contains("  passed      \(name)"))
        #expect(unsure.text().contains("  (passed)    \(name)"))
        #expect(unsure.text().contains("inferred: experiments"))
        #expect(sure.markdown().contains("`\(name)` | ✓ |"))
        #expect(unsure.markdown().contains("`\(name)` | (✓) |"))
        #expect(!sure.html().contains("class=\"passed inferred\""))
        #expect(unsure.html().contains("class=\"passed inferred\""))
        #expect(unsure.junit().contains("<property name=\"inferred\" value=\"experiments\"/>"))
        func isInferred(_ report: ConformanceReport) -> FlagValue? {
            let subject = report.document().objectValue?["subjects"]?.arrayValue?.first
            return subject?.objectValue?["cases"]?.arrayValue?.first?.objectValue?["inferred"]
        }
        #expect(isInferred(sure) == nil)
        #expect(isInferred(unsure) == true)
    }
}

import ConformanceKit
import Experimentation
import Foundation
import Testing

@testable import ComparisonKit

@Suite("Reports of an agreement")
struct AgreementReportTests {
    private static func experiment(_ ratio: RatioTest?) -> Agreement.Experiment {
        Agreement.Experiment(
            id: "prices",
            name: "Prices",
            advice: .finishFirst,
            reason: "half of its users would change",
            pairedBy: .names,
            before: ["bare", "short"],
            after: ["none", "brief"],
            matrix: [[5, 4, 0], [3, 7, 0], [0, 0, 2]],
            imported: [[9, 0, 0], [0, 10, 0], [0, 0, 2]],
            users: 19,
            changed: 7,
            changedImported: 0,
            joined: 0,
            ratioBefore: ratio,
            ratioAfter: nil,
            ratioImported: nil,
            isTooFewAfter: true,
            isTooFewImported: true
        )
    }

    private static let agreement = Agreement(
        from: "sigma",
        to: "flagship",
        users: 21,
        unanswered: 0,
        unreadable: 0,
        heldOutBefore: 0,
        heldOutAfter: 0,
        keepsAssignments: true,
        experiments: [experiment(RatioTest(observed: [9, 10], weights: [1, 1]))],
        exposures: [
            ExposureRatio(
                vendor: "flagship",
                profile: .calm,
                experiment: "prices",
                variations: ["none", "brief"],
                seen: [2, 1],
                arrived: [2, 1],
                isTooFew: true
            )
        ]
    )

    private static func text(_ format: ComparisonReport.Format) -> String {
        AgreementReport(agreement).text(as: format)
    }

    @Test("a matrix says which vendor's variations are its rows and which its columns")
    func corners() {
        #expect(Self.text(.text).contains("sigma ↓ / flagship →  none  brief  outside"))
        #expect(Self.text(.markdown).contains("| sigma ↓ / flagship → | none | brief | outside |"))
        #expect(Self.text(.html).contains("<th scope=\"col\">sigma ↓ / flagship →</th>"))
        // On a narrow screen, without headings.
        #expect(Self.text(.html).contains("<td data-vendor=\"→ brief\">7</td>"))
    }

    @Test("every column has a heading, and every table that can be scrolled a name of its own")
    func labels() throws {
        let page = Self.text(.html)
        #expect(!page.contains("<th scope=\"col\"></th>"))
        #expect(page.contains("<th scope=\"col\">verdict</th>"))
        let regions = page.matches(of: /role="region" ([a-z-]+)="([^"]*)"/).map { String($0.output.2) }
        #expect(
            regions == [
                "With nothing done: Prices", "With assignments handed over: Prices",
                "Is the allocation what its weights say? Prices", "flagship, prices",
            ]
        )
        #expect(!Self.text(.markdown).contains("|  |"))
    }

    @Test(
        "each matrix says whether nothing was done or assignments were handed over",
        arguments: [ComparisonReport.Format.text, .markdown, .html]
    )
    func captions(format: ComparisonReport.Format) throws {
        let text = Self.text(format).lowercased()
        let plain = try #require(text.range(of: "with nothing done", options: .backwards))
        let imported = try #require(text.range(of: "with assignments handed over", options: .backwards))
        #expect(plain.lowerBound < imported.lowerBound)
    }

    @Test("exposures of which none arrived are lost, not too few")
    func allLost() {
        var agreement = Self.agreement
        agreement.exposures[0].seen = [100, 100]
        agreement.exposures[0].arrived = [0, 0]
        agreement.exposures[0].isTooFew = false
        let row = AgreementRows(agreement: agreement).exposures[0].rows[0]
        #expect(row == ["nothing goes wrong", "100 : 100", "0 : 0", "200", "0", "–", "–"])
    }

    @Test(
        "expected counts below ten have a decimal, and too few users to test are named",
        arguments: [ComparisonReport.Format.text, .markdown, .html]
    )
    func expected(format: ComparisonReport.Format) {
        let text = Self.text(format)
        #expect(text.contains("9.5 : 9.5"))
        #expect(text.matches(of: /too few to tell/).count == 3)
    }
}

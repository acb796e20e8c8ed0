import AdapterKit
import Experimentation

/// A type that a configured text can be read as: `Bool`, `Int`, `Double`, `String`, an object, or one of the application's.
///
/// The type that is asked for decides, not the one that the flag was declared with.
public protocol SigmaPropertyType: Sendable {
    /// Reads a text, or gives `nil` where it means no value of this type.
    init?(sigmaString: String)
}

extension Bool: SigmaPropertyType {
    /// Reads exactly `true` or `false`.
    public init?(sigmaString: String) { self.init(sigmaString) }
}

extension Int: SigmaPropertyType {
    /// Reads a whole decimal number; `3.0` is none.
    public init?(sigmaString: String) { self.init(sigmaString) }
}

extension Double: SigmaPropertyType {
    /// Reads a finite number, whole ones too.
    public init?(sigmaString: String) {
        guard let number = Double(sigmaString), number.isFinite else { return nil }
        self = number
    }
}

extension String: SigmaPropertyType {
    /// Takes the text as it is; of a JSON flag, that is the document.
    public init?(sigmaString: String) { self = sigmaString }
}

extension Dictionary: SigmaPropertyType where Key == String, Value == FlagValue {
    /// Reads a JSON object; a list or a single value is none.
    public init?(sigmaString: String) {
        guard let value = try? JSON.parse(Array(sigmaString.utf8)), let object = value.objectValue else { return nil }
        self = object
    }
}

extension ValueType {
    /// The value that a text of this type means, in the type that the vendor's SDK would give it.
    func property(of text: String) -> (any SigmaPropertyType)? {
        switch self {
        case .bool: Bool(sigmaString: text)
        case .string, .unknown: text
        case .json: [String: FlagValue](sigmaString: text)
        case .integer, .number: Int(sigmaString: text) ?? Double(sigmaString: text)
        }
    }
}

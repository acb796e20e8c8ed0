import AdapterKit
import Experimentation

/// A type that a configured text can be read as: `Bool`, `Int`, `Double`, `String`, an object, or an application's own.
///
/// The requested type decides, not the one that the flag was declared with.
public protocol SigmaPropertyType: Sendable {
    /// Parses a text; `nil` if it isn't a value of this type.
    init?(sigmaString: String)
}

extension Bool: SigmaPropertyType {
    /// Parses exactly `true` or `false`.
    public init?(sigmaString: String) { self.init(sigmaString) }
}

extension Int: SigmaPropertyType {
    /// Parses a decimal integer; `3.0` isn't one.
    public init?(sigmaString: String) { self.init(sigmaString) }
}

extension Double: SigmaPropertyType {
    /// Parses a finite number, including integers.
    public init?(sigmaString: String) {
        guard let number = Double(sigmaString), number.isFinite else { return nil }
        self = number
    }
}

extension String: SigmaPropertyType {
    /// Takes the text as it is; for a JSON flag, that is the document.
    public init?(sigmaString: String) { self = sigmaString }
}

extension Dictionary: SigmaPropertyType where Key == String, Value == FlagValue {
    /// Parses a JSON object; a list or a single value isn't one.
    public init?(sigmaString: String) {
        guard let value = try? JSON.parse(Array(sigmaString.utf8)), let object = value.objectValue else { return nil }
        self = object
    }
}

extension ValueType {
    /// Returns the value of a text of this type, in the type that the vendor's SDK would return.
    func property(of text: String) -> (any SigmaPropertyType)? {
        switch self {
        case .bool: Bool(sigmaString: text)
        case .string, .unknown: text
        case .json: [String: FlagValue](sigmaString: text)
        case .integer, .number: Int(sigmaString: text) ?? Double(sigmaString: text)
        }
    }
}
